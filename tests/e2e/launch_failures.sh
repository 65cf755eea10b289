# What `weft run` says and does when a node fails: the others are told, the job ends, and one sentence says who and how.
source "$(dirname "$0")/lib.sh"

a_node_killed_before_it_joins_ends_the_job() {
  run "$WEFT" run -n 3 "$PROBE" die 9 1 before
  expect_status 137
  expect_one_sentence '^weft: node 1 \(host .*, pid [0-9]+\) was killed by signal 9 \(Killed\); the job was ended$'
}

a_node_killed_while_the_others_wait_for_it_is_named_to_them() {
  run "$WEFT" run -n 3 "$PROBE" die 9 1 during
  expect_status 137
  expect_one_sentence '^weft: node 1 \(host .*, pid [0-9]+\) was killed by signal 9 \(Killed\); the job was ended$'
  for node in 0 2; do
    expect_out "^node $node is told: node 1 was killed by signal 9 \(Killed\)$"
    expect_out "^node $node exchange: node failed: node $node: node 1 was killed by signal 9 \(Killed\)$"
  done
}

a_node_killed_after_an_exchange_is_named_to_the_others() {
  run "$WEFT" run -n 3 "$PROBE" die 11 2 after
  expect_status 139
  expect_one_sentence '^weft: node 2 .* was killed by signal 11 \(Segmentation fault\); the job was ended$'
  expect_out '^node 0 is told: node 2 was killed by signal 11'
}

the_exit_status_of_the_job_is_that_of_the_first_node_that_fails() {
  run "$WEFT" run -n 4 sh -c 'test $WEFT_NODE = 2 && exit 42; sleep 20'
  expect_status 42
  expect_one_sentence '^weft: node 2 .* exited with status 42; the job was ended$'
}

a_node_that_exits_without_leaving_fails_the_job_even_with_status_0() {
  run "$WEFT" run -n 3 "$PROBE" leave-with +0 2
  expect_status 1
  expect_one_sentence '^weft: node 2 .* exited with status 0 before it had left the job; the job was ended$'
}

a_node_that_fails_after_it_has_left_gives_the_exit_status_and_disturbs_nobody() {
  run "$WEFT" run -n 3 "$PROBE" leave-with 5 1
  expect_status 5
  expect_one_sentence '^weft: node 1 .* exited with status 5 after it had left the job$'
}

a_node_that_stays_out_of_the_job_of_the_others_is_a_failure() {
  run "$WEFT" run -n 3 "$PROBE" stay-out 1
  expect_status 1
  expect_one_sentence '^weft: node 1 .* exited with status 0 without joining the job that the others have joined; the job was ended$'
}

a_node_that_others_cannot_reach_is_named() {
  run "$WEFT" run -n 3 "$PROBE" report 2
  expect_status 1
  expect_one_sentence '^weft: node 2 .* has not answered for 5 s, says node 0; the job was ended$'
}

the_reason_for_which_all_nodes_give_up_is_said_once() {
  run "$WEFT" run -n 3 "$PROBE" give-up
  expect_status 70
  expect_one_sentence '^weft: node [0-2] \(host .*, pid [0-9]+\): there is no wool; get some$'
  run "$PROBE" give-up
  expect_status 70
  expect_one_sentence '^weft: there is no wool; get some$'
}

an_exchange_that_runs_out_of_time_says_who_is_missing() {
  run "$WEFT" run -n 3 "$PROBE" late 1
  expect_status 0
  expect_out '^node 0 exchange: timed out: node 0: waited 300 ms for node 1 to meet at start-up exchange 1'
}

the_loss_of_an_agent_names_the_host_and_its_nodes() {
  "$WEFT" run -n 2 "$PROBE" hang >out 2>err &
  local launcher=$!
  wait_for 2 '^pid' out
  local everything agent
  everything=$(descendants_of $launcher)
  agent=$(parent_of "$(pids_in out | head -1)")
  kill -9 $agent
  ended $launcher
  expect_status 1
  expect_one_sentence '^weft: host .* was lost with nodes 0 and 1: its agent ended; the job was ended$'
  expect_gone 10 $everything
}

check a_node_killed_before_it_joins_ends_the_job
check a_node_killed_while_the_others_wait_for_it_is_named_to_them
check a_node_killed_after_an_exchange_is_named_to_the_others
check the_exit_status_of_the_job_is_that_of_the_first_node_that_fails
check a_node_that_exits_without_leaving_fails_the_job_even_with_status_0
check a_node_that_fails_after_it_has_left_gives_the_exit_status_and_disturbs_nobody
check a_node_that_stays_out_of_the_job_of_the_others_is_a_failure
check a_node_that_others_cannot_reach_is_named
check the_reason_for_which_all_nodes_give_up_is_said_once
check an_exchange_that_runs_out_of_time_says_who_is_missing
check the_loss_of_an_agent_names_the_host_and_its_nodes
summary
