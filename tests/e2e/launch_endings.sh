# However a job ends, nothing of it is left running.
source "$(dirname "$0")/lib.sh"

# Starts a job of nodes that print their pids; leaves the launcher's pid in $launcher and everything below it in $everything.
start_job() {
  local lines=$1
  shift
  "$WEFT" run "$@" >out 2>err &
  launcher=$!
  wait_for "$lines" '^pid' out
  everything="$(descendants_of $launcher) $(pids_in out)"
}

# The launcher's child is the guard, and the guard's is the agent.
agent_of() { first_child_of "$(first_child_of "$1")"; }

signal_ends_the_job() {
  start_job 2 -n 2 "$PROBE" hang
  kill -"$1" $launcher
  ended $launcher
  expect_status "$2"
  expect_one_sentence "^weft: signal [0-9]+ \($3\) ended the job$"
  expect_gone 0 $everything
}
ctrl_c_ends_all_nodes() { signal_ends_the_job INT 130 Interrupt; }
sigterm_ends_all_nodes() { signal_ends_the_job TERM 143 Terminated; }
sighup_ends_all_nodes() { signal_ends_the_job HUP 129 Hangup; }

ctrl_c_on_a_terminal_ends_all_nodes() {
  (sleep 1.5; printf '\003'; sleep 3) | timeout 15 script -qec "$WEFT run -n 2 $PROBE hang" /dev/null >out 2>err
  status=$?
  tr -d '\r' <out >clean && mv clean out
  expect_status 130
  expect_out 'weft: signal 2 \(Interrupt\) ended the job'
  expect_gone 0 $(pids_in out)
}

nodes_that_ignore_sigterm_are_killed() {
  start_job 2 -n 2 "$PROBE" hang stubborn
  kill -INT $launcher
  ended $launcher
  expect_status 130
  expect_gone 0 $everything
}

a_second_ctrl_c_kills_at_once() {
  start_job 2 -n 2 "$PROBE" hang stubborn
  local began=$SECONDS
  kill -INT $launcher
  sleep 0.3
  kill -INT $launcher
  ended $launcher
  expect_status 130
  [ $((SECONDS - began)) -le 1 ] || fail "it took too long"
  expect_gone 0 $everything
}

stopped_nodes_are_ended_too() {
  start_job 2 -n 2 "$PROBE" hang
  kill -STOP $(pids_in out)
  kill -TERM $launcher
  ended $launcher
  expect_gone 0 $everything
}

a_job_that_takes_too_long_is_ended() {
  run "$WEFT" run -n 2 --timeout 500ms "$PROBE" hang
  expect_status 124
  expect_one_sentence '^weft: the job was ended because it ran longer than 500 ms, its --timeout$'
  expect_gone 0 $(pids_in out)
}

what_nodes_started_goes_when_the_nodes_have_gone() {
  run "$WEFT" run -n 2 "$PROBE" orphans end
  expect_status 0
  expect_lines 6
  expect_gone 0 $(pids_in out)
}

what_nodes_started_goes_with_ctrl_c() {
  start_job 6 -n 2 "$PROBE" orphans
  kill -INT $launcher
  ended $launcher
  expect_gone 0 $everything
}

what_nodes_started_goes_when_a_node_is_killed() {
  start_job 6 -n 2 "$PROBE" orphans
  kill -9 "$(first_child_of "$(agent_of $launcher)")"
  ended $launcher
  expect_status 137
  expect_gone 0 $everything
}

nothing_survives_a_killed_launcher() {
  start_job 6 -n 2 "$PROBE" orphans
  kill -9 $launcher
  expect_gone 30 $everything
}

nothing_survives_a_killed_agent() {
  start_job 6 -n 2 "$PROBE" orphans
  kill -9 "$(agent_of $launcher)"
  ended $launcher
  expect_status 1
  expect_gone 10 $everything
}

nothing_survives_a_killed_guard() {
  start_job 6 -n 2 "$PROBE" orphans
  kill -9 "$(first_child_of $launcher)"
  ended $launcher
  expect_gone 30 $everything
}

a_job_whose_output_nobody_reads_ends() {
  "$WEFT" run -n 2 sh -c 'echo "pid $$" >&2; exec yes' 2>err | head -1 >out
  status=${PIPESTATUS[0]}
  expect_status 141
  expect_err '^weft: standard output was closed; the job was ended$'
  expect_gone 0 $(pids_in err)
}

check ctrl_c_ends_all_nodes
check sigterm_ends_all_nodes
check sighup_ends_all_nodes
check ctrl_c_on_a_terminal_ends_all_nodes
check nodes_that_ignore_sigterm_are_killed
check a_second_ctrl_c_kills_at_once
check stopped_nodes_are_ended_too
check a_job_that_takes_too_long_is_ended
check what_nodes_started_goes_when_the_nodes_have_gone
check what_nodes_started_goes_with_ctrl_c
check what_nodes_started_goes_when_a_node_is_killed
check nothing_survives_a_killed_launcher
check nothing_survives_a_killed_agent
check nothing_survives_a_killed_guard
check a_job_whose_output_nobody_reads_ends
summary
