# A program started by Open MPI's mpirun finds its peers through PMIx, without MPI.
source "$(dirname "$0")/lib.sh"
command -v mpirun >/dev/null && mpirun --version 2>/dev/null | grep -q 'Open MPI' || cannot_test "there is no mpirun of Open MPI"
mpirun=(mpirun --oversubscribe)
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)

four_nodes_started_by_mpirun_meet() {
  run "${mpirun[@]}" -n 4 "$PROBE" cards 3
  expect_status 0
  expect_lines 12
  for node in 0 1 2 3; do expect_out "^node $node of 4 by PMIx, host 0 of 1: 0.3 1.3 2.3 $"; done
}

one_node_started_by_mpirun_is_a_job_of_one() {
  run "${mpirun[@]}" -n 1 "$PROBE" cards
  expect_status 0
  expect_out '^node 0 of 1 by PMIx, host 0 of 1: 0.1$'
}

all_nodes_have_the_secrets_and_options_of_node_0() {
  WEFT_FABRIC=udp run "${mpirun[@]}" -n 3 "$PROBE" same
  expect_status 0
  [ "$(sort -u out | wc -l)" = 1 ] || fail "nodes differ"
  expect_out ' fabric=udp$'
}

nodes_of_another_build_are_refused_under_mpirun() {
  run "${mpirun[@]}" -n 1 "$PROBE" cards : -n 1 "$OTHER_PROBE" cards
  [ "$status" != 0 ] || fail "expected a failure"
  expect_err 'cannot join: node 1 runs a different build of this program than node 0; copy the same file to every host'
}

a_node_that_reports_a_peer_ends_the_job() {
  run "${mpirun[@]}" -n 3 "$PROBE" report 2
  expect_status 1
}

an_exchange_under_mpirun_has_a_limit() {
  run "${mpirun[@]}" -n 2 "$PROBE" late 1
  expect_out '^node 0 exchange: timed out: node 0: waited 300 ms for the other nodes to meet'
}

nothing_asks_for_pmix_when_there_is_no_server() {
  run env -u PMIX_NAMESPACE strace -f -e trace=openat "$PROBE" cards
  ! grep -q pmix err || fail "libpmix was opened"
}

check four_nodes_started_by_mpirun_meet
check one_node_started_by_mpirun_is_a_job_of_one
check all_nodes_have_the_secrets_and_options_of_node_0
check nodes_of_another_build_are_refused_under_mpirun
check a_node_that_reports_a_peer_ends_the_job
check an_exchange_under_mpirun_has_a_limit
! command -v strace >/dev/null || check nothing_asks_for_pmix_when_there_is_no_server
summary
