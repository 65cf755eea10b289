# `weft top`: what a running job does, without its having been started for it.
# It finds the only job that there is: in a network of its own, where no other test's is.
[ -n "${ALONE:-}" ] || ALONE=1 exec unshare --net bash -c 'ip link set lo up && exec bash "$0"' "$0"
source "$(dirname "$0")/lib.sh"
: "${REPORT_PROBE:?the program report_probe}" "${ACTIVITY_PROBE:?the program activity_probe}"

start_job() { # command: leaves its process in $job
  "$@" >job.out 2>job.err &
  job=$!
  trap 'kill "$job" 2>/dev/null' EXIT  # also when an expectation ends the test
  sleep 0.7
}
end_job() {
  kill "$job" 2>/dev/null
  wait "$job"
}
watched() { # options of weft top
  run "$WEFT" top -n 1 "$@"
  expect_status 0
}

shows_faults_and_the_hottest_page_of_a_job_that_shares_one_falsely() {
  start_job "$WEFT" run -n 2 --protocol cashmere:copied "$REPORT_PROBE" falsely-long
  watched "$job"
  end_job
  expect_out '^weft top: 2 nodes, cashmere:copied on shm, [0-9]+ s; looking on costs a node [0-9.]+%$'
  expect_out '^ +[01] +[0-9.]+% .*\| +[1-9][0-9]* +[0-9.]+ [KMG]iB '
  grep -A 1 '^hottest pages' out | grep -qE '^  0x2[0-9a-f]+ +[1-9][0-9]*  nodes 0 and 1$' || fail "the hottest page is not told"
}
tells_who_waits_for_whom_and_finds_the_job_by_itself() {
  start_job "$WEFT" run -n 3 "$ACTIVITY_PROBE" away
  watched
  end_job
  expect_out '^  nodes 0 and 1 have reached barrier 2 at .*; node 2 has not: it computes$'
}
refuses_what_is_not_there() {
  run "$WEFT" top 1
  expect_status 1
  expect_one_sentence "^weft: there is no 'weft run' of yours with process id 1;"
  run "$WEFT" top -n none 1
  expect_status 2
  expect_one_sentence '^weft: -n none is not a number of frames'
}

for behaviour in $(declare -F | sed -n 's/^declare -f \(shows_.*\|tells_.*\|refuses_.*\)$/\1/p'); do
  check "$behaviour"
done
summary
