# The statistics of a job: one JSON document whose counts are exact and whose times add up.
source "$(dirname "$0")/lib.sh"
: "${ACTIVITY_PROBE:?the program activity_probe}" "${JSON_VALUE:?the program json_value}" "${FFT:?the program fft}"

value() { "$JSON_VALUE" stats.json "$1" || fail "no $1 in $(cat stats.json)"; }
expect() { [ "$(value "$1")" = "$2" ] || fail "expected $2 at $1 and found $(value "$1")"; }
expect_between() { # pointer, low, high
  awk -v v="$(value "$1")" -v low="$2" -v high="$3" 'BEGIN {exit !(v >= low && v <= high)}' || fail "expected $2 to $3 at $1 and found $(value "$1")"
}

counted() { # options of weft run
  run "$WEFT" run -n 2 --stats=stats.json "$@" "$ACTIVITY_PROBE" count
  expect_status 0
  [ ! -s out ] && [ ! -s err ] || fail "nothing was to be said"
  expect /nodes 2
  for node in 0 1; do
    expect /per_node/$node/node $node
    expect /per_node/$node/threads 1
    expect /per_node/$node/counts/barriers 4
    expect /per_node/$node/counts/lock_acquires 10
    times_add_up $node
  done
  # Node 1 waits 0.3 s for the flag, and node 0 then 0.2 s at the barrier.
  expect /per_node/1/counts/value_waits 1
  expect_between /per_node/1/time/lock 0.25 0.5
  expect_between /per_node/0/time/barrier 0.15 0.4
  expect_between /per_node/0/time/compute 0.29 0.5
}

times_add_up() { # node: within a millisecond
  local part sum=0
  for part in compute page_fetch lock barrier handler protocol; do sum="$sum + $(value /per_node/$1/time/$part)"; done
  awk -v wall="$(value /per_node/$1/wall)" "BEGIN {difference = wall - ($sum); exit !(difference < 0.001 && difference > -0.001)}" ||
    fail "the times of node $1 do not add up: $sum is not $(value /per_node/$1/wall)"
}

direct_has_no_faults_and_times_that_add_up() {
  counted --protocol direct
  expect /protocol direct
  expect /per_node/0/counts/read_faults 0
  expect /per_node/0/traffic "[]"
}

software_counts() {
  expect /per_node/0/counts/read_faults 3
  expect /per_node/0/counts/fetches 3
  expect /per_node/0/counts/fetched_pages 3
  expect /per_node/0/counts/fetched_ahead 0
  expect /per_node/0/counts/diffs 1
  expect /per_node/0/counts/diff_bytes 5
  expect /per_node/0/counts/diff_runs 3
  expect /per_node/1/counts/fetched_pages 0
  expect /per_node/1/counts/diffs 0
  expect /per_node/0/traffic '[{"diff_bytes":5,"fetched_bytes":12288,"node":1}]'
  expect /per_node/1/traffic "[]"
  expect_between /per_node/0/time/page_fetch 0.000001 0.1
  expect_between /per_node/0/watching/phases 0.00000001 0.01
}

cashmere_counts_are_exact() {
  counted --protocol cashmere:copied --engine uffd
  expect /protocol cashmere:copied
  expect /engine uffd
  expect /fabric shm
  software_counts
  expect /per_node/0/counts/write_faults 0
  expect /per_node/0/counts/notices_sent 0
}
cashmere_on_shm_runs_no_handler_anywhere() { # where no lock is kept by a node that another node then asks
  for protocol in cashmere cashmere:copied; do
    for nodes in 2 4; do
      run "$WEFT" run -n $nodes --protocol $protocol --fabric shm --stats=stats.json "$FFT" --log-size 12 --verify
      expect_status 0
      for ((node = 0; node < nodes; ++node)); do
        expect /per_node/$node/port/handled 0
        expect /per_node/$node/port/sends 0
        [ "$(value /per_node/$node/counts/fetched_pages)" -gt 0 ] || fail "nothing was fetched"
      done
    done
  done
}
cashmere_counts_pages_that_it_uses_in_place() {
  for engine in uffd mprotect; do
    counted --protocol cashmere --engine $engine
    expect /protocol cashmere:in-place
    expect /engine $engine
    expect /per_node/0/counts/read_faults 1 # opens the others as well
    expect /per_node/0/counts/write_faults 0
    expect /per_node/0/counts/fetches 1
    expect /per_node/0/counts/fetched_pages 7
    expect /per_node/0/counts/diffs 0
    expect /per_node/0/counts/notices_sent 0
    expect /per_node/1/counts/fetched_pages 0
    expect /per_node/0/traffic "[]"
  done
}
cashmere_counts_are_exact_with_mprotect() {
  counted --protocol cashmere:copied --engine mprotect
  software_counts
  expect /per_node/0/counts/write_faults 1
}
hlrc_counts_are_exact() {
  counted --protocol hlrc
  software_counts
  [ "$(value /per_node/1/port/handled)" -ge 3 ] || fail "nobody served pages"
  expect_between /per_node/1/communication_thread 0 0.1
}
cashmere_counts_are_exact_over_udp() {
  counted --protocol cashmere --fabric udp
  software_counts
}

threads_of_a_team_are_summed() {
  run "$WEFT" run -n 2 --stats=stats.json "$ACTIVITY_PROBE" teams
  expect_status 0
  expect /per_node/0/threads 3
  # Three threads for 0.2 s, two of which wait for the third.
  expect_between /per_node/0/time/barrier 0.35 0.7
  expect_between /per_node/0/time/compute 0.19 0.45
}

without_a_file_the_document_goes_to_standard_error() {
  run "$WEFT" run -n 2 --stats "$ACTIVITY_PROBE" slow
  expect_status 0
  cp err stats.json
  expect /per_node/1/counts/barriers 20
}
a_job_of_one_writes_its_own() {
  WEFT_STATS=stats.json WEFT_PROTOCOL=cashmere run "$ACTIVITY_PROBE" slow
  expect_status 0
  expect /started_by alone
  expect /per_node/0/counts/barriers 20
}
a_job_under_mpirun_writes_one_document() {
  run mpirun --allow-run-as-root --oversubscribe -n 2 -x WEFT_STATS=stats.json "$ACTIVITY_PROBE" slow
  expect_status 0
  expect /started_by PMIx
  expect /per_node/1/counts/barriers 20
}
a_job_without_the_option_writes_nothing() {
  run "$WEFT" run -n 2 "$ACTIVITY_PROBE" count
  expect_status 0
  [ ! -s out ] && [ ! -s err ] && [ ! -e stats.json ] || fail "nothing was to be said"
}
a_file_that_cannot_be_written_is_refused_before_the_start() {
  run "$WEFT" run -n 2 --stats=/no/such/folder/stats.json "$ACTIVITY_PROBE" count
  expect_status 2
  expect_one_sentence "^weft: --stats=/no/such/folder/stats.json cannot be written \(No such file or directory\); name a file"
}

for behaviour in $(declare -F | sed -n 's/^declare -f \(direct_.*\|cashmere_.*\|hlrc_.*\|threads_.*\|without_.*\|a_.*\)$/\1/p'); do
  check "$behaviour"
done
summary
