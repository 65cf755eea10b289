# The roll-call: a job that does not get on tells which node waits where for what.
source "$(dirname "$0")/lib.sh"
: "${ACTIVITY_PROBE:?the program activity_probe}"

# Ends because nothing moves, says so last, and comes soon after its time.
stalls() { # nodes, protocol, what
  local started=$SECONDS
  run "$WEFT" run -n "$1" --protocol "$2" --stall-after 1s "$ACTIVITY_PROBE" "$3"
  expect_status 1
  [ "$(tail -1 err)" = "weft: the job made no progress for 1 s, its --stall-after, and was ended; the roll-call tells who waits for what" ] ||
    fail "expected the reason in the last line"
  [ $((SECONDS - started)) -le 8 ] || fail "it took $((SECONDS - started)) s"
}

two_mutexes_locked_crosswise_are_told_with_their_holders() {
  for protocol in direct cashmere hlrc lrc; do
    stalls 2 $protocol deadlock
    expect_err "node 0 thread 0 waits [1-3]\.[0-9] s for mutex .*second_mutex \(held by node 1\) at activity_probe\+0x[0-9a-f]+ in .*lock_crosswise"
    expect_err "node 1 thread 0 waits [1-3]\.[0-9] s for mutex .*first_mutex \(held by node 0\) at activity_probe\+0x[0-9a-f]+ in .*lock_crosswise"
  done
}

a_node_that_computes_and_never_comes_to_a_barrier_is_named() {
  for protocol in direct cashmere hlrc lrc; do
    stalls 4 $protocol away
    expect_err "nodes 0, 1 and 3 have reached barrier 2 at activity_probe\+0x[0-9a-f]+ in .*stay_away.* and wait [1-3]\.[0-9] s; node 2 has not: it computes$"
    expect_err "node 2 thread 0 computes$"
  done
}

a_thread_that_never_comes_to_its_teams_barrier_is_named() {
  for protocol in direct cashmere; do
    stalls 2 $protocol team
    expect_err "node 0 has reached barrier 1 .*; node 1 has not: it computes$"
    expect_err "node 1 thread 2 computes$"
    [ "$(grep -c 'node 1 thread [01] waits .* for the other threads of its team' err)" = 2 ] || fail "the team of node 1 is not told"
  done
}

a_node_that_has_ended_its_work_is_told_beside_one_that_waits_in_vain() {
  for protocol in direct cashmere; do
    stalls 2 $protocol end
    expect_err "node 0 thread 0 waits [1-3]\.[0-9] s for the other nodes, at the end of the job"
    expect_err "node 1 thread 0 waits [1-3]\.[0-9] s for flag or counter 0x2[0-9a-f]+ to reach 3 at activity_probe"
  done
}

a_stopped_node_does_not_answer() {
  "$WEFT" run -n 2 -v --stall-after 1s "$ACTIVITY_PROBE" slow >out 2>err &
  local job=$!
  wait_for 2 'node [01] .* started' err
  sleep 0.5
  kill -STOP "$(sed -n 's/.*node 1 (host .*, pid \([0-9]*\)) started.*/\1/p' err)"
  ended $job
  expect_status 1
  expect_err "node 1 does not answer: it is stopped"
}

# Nothing ends here: the program goes on.
a_job_that_gets_on_is_left_alone() {
  for protocol in direct cashmere; do
    run "$WEFT" run -n 2 --protocol $protocol --stall-after 500ms "$ACTIVITY_PROBE" slow
    expect_status 0
    [ ! -s err ] || fail "nothing was to be said"
  done
}

asked_by_a_signal_the_launcher_tells_and_the_job_goes_on() {
  for protocol in direct cashmere; do
    "$WEFT" run -n 4 --protocol $protocol "$ACTIVITY_PROBE" away >out 2>err &
    local job=$!
    sleep 1
    kill -USR1 $job
    wait_for 1 'nodes 0, 1 and 3 have reached barrier 2 .* node 2 has not: it computes$' err
    alive $job || fail "the job is gone"
    kill -USR1 $job
    wait_for 2 'nodes 0, 1 and 3 have reached barrier 2' err
    kill -TERM $job
    ended $job
    expect_status 143
  done
}

asked_by_a_signal_a_node_has_the_launcher_tell_of_all() {
  "$WEFT" run -n 2 -v "$ACTIVITY_PROBE" deadlock >out 2>err &
  local job=$!
  wait_for 2 'node [01] .* started' err
  sleep 0.5
  kill -USR1 "$(sed -n 's/.*node 1 (host .*, pid \([0-9]*\)) started.*/\1/p' err)"
  wait_for 1 'roll-call: node 0 thread 0 waits .* \(held by node 1\)' err
  wait_for 1 'roll-call: node 1 thread 0 waits .* \(held by node 0\)' err
  kill -TERM $job
  ended $job
  expect_status 143
}

asked_by_a_signal_a_job_of_one_tells_of_itself() {
  for protocol in direct cashmere; do
    WEFT_PROTOCOL=$protocol "$ACTIVITY_PROBE" alone >out 2>err &
    local job=$!
    sleep 0.5
    kill -USR1 $job
    wait_for 1 '^weft: roll-call: node 0 thread 0 waits .* s for flag or counter .*ready to reach 7 at activity_probe' err
    kill -9 $job
    ended $job
  done
}

a_programs_own_handler_of_the_signal_is_left_alone() {
  "$ACTIVITY_PROBE" own-signal >out 2>err &
  local job=$!
  wait_for 1 'waiting' out
  kill -USR1 $job
  ended $job
  expect_status 0
  expect_out "^asked$"
  [ ! -s err ] || fail "weft answered although it was not asked"
}

for behaviour in $(declare -F | sed -n 's/^declare -f \(a_.*\|two_.*\|asked_.*\)$/\1/p'); do
  check "$behaviour"
done
summary
