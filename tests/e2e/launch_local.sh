# `weft run` on one host: nodes find each other, and a program sees its arguments, its environment and its standard input.
source "$(dirname "$0")/lib.sh"

four_nodes_meet_and_exchange_their_cards() {
  run "$WEFT" run -n 4 "$PROBE" cards 3
  expect_status 0
  expect_lines 12
  for node in 0 1 2 3; do expect_out "^node $node of 4 by weft run, host 0 of 1: 0.3 1.3 2.3 $"; done
}

many_exchanges_among_eight_nodes_stay_in_step() {
  run "$WEFT" run -n 8 "$PROBE" cards 50
  expect_status 0
  expect_lines 400
  expect_out "^node 7 of 8 by weft run, host 0 of 1: 0.50 1.50 2.50  4.50 5.50 6.50 7.50$"
}

a_program_started_by_itself_is_a_job_of_one() {
  run "$PROBE" cards 2
  expect_status 0
  expect_out "^node 0 of 1 by alone, host 0 of 1: 0.2$"
}

a_program_that_never_joins_runs_as_it_is() {
  run "$WEFT" run -n 3 hostname
  expect_status 0
  expect_lines 3
  expect_out "^$(hostname)$"
}

all_nodes_share_the_secrets_and_no_two_jobs_do() {
  run "$WEFT" run -n 3 "$PROBE" same
  expect_status 0
  [ "$(sort -u out | wc -l)" = 1 ] || fail "nodes differ"
  local first
  first=$(head -1 out)
  run "$WEFT" run -n 3 "$PROBE" same
  [ "$(head -1 out)" != "$first" ] || fail "two jobs have the same secrets"
}

the_secrets_are_neither_in_the_environment_nor_on_a_command_line() {
  "$WEFT" run -n 2 sh -c 'env; tr "\0" " " </proc/$PPID/cmdline; echo; echo done; sleep 5' >out 2>err &
  local launcher=$!
  wait_for 2 '^done$' out
  for pid in $(descendants_of $launcher); do tr '\0' ' ' <"/proc/$pid/cmdline" >>commands; echo >>commands; done
  kill $launcher
  ended $launcher
  [ "$(grep -E '^WEFT' out | sed 's/=.*//' | grep -vE '^WEFT(_EXPECTED_VERSION)?$' | sort -u | xargs)" = "WEFT_CONTROL_FD WEFT_NODE WEFT_NODES" ] ||
    fail "there is more in the environment than expected"
  [ "$(grep -c '^weft agent $' commands)" = 2 ] || fail "expected two agents without arguments: $(cat commands)"
}

options_reach_every_node_and_the_command_line_wins_over_the_environment() {
  WEFT_FABRIC=udp WEFT_PROVIDER=tcp run "$WEFT" run -n 2 --fabric ofi --port 21000 --stall-after 3s --dead-after 4s --interface lo \
    --lock-memory --share-cores "$PROBE" same
  expect_status 0
  [ "$(grep -c ' dead-after=4s fabric=ofi interface=lo lock-memory=1 port=21000 provider=tcp share-cores=1 stall-after=3s$' out)" = 2 ] || fail "options differ"
}

an_impairment_is_of_udp_and_chooses_it() {
  WEFT_IMPAIR=loss=1% run "$WEFT" run -n 2 --impair loss=5% "$PROBE" same
  expect_status 0
  [ "$(grep -c ' impair=loss=5%$' out)" = 2 ] || fail "options differ"
  run "$WEFT" run -n 2 --impair loss=5% --stats=stats.json "$PROBE" open
  expect_status 0
  grep -q '"fabric": *"udp"' stats.json || fail "expected udp: $(head -c 600 stats.json)"
}

the_environment_gives_options_to_a_program_started_by_itself() {
  WEFT_FABRIC=udp run "$PROBE" same
  expect_out ' fabric=udp$'
  WEFT_FABRIC=carrier-pigeon run "$PROBE" same
  expect_status 1
  expect_err "there is no fabric 'carrier-pigeon'"
}

variables_are_set_and_passed_on() {
  HERE=there run "$WEFT" run -n 2 --env HERE --env SET="a b=c" sh -c 'echo "$HERE|$SET|$WEFT_NODE of $WEFT_NODES"'
  expect_status 0
  expect_out '^there\|a b=c\|1 of 2$'
}

everything_after_the_program_is_the_programs() {
  run "$WEFT" run -n 1 echo --help -n 7 --fabric x -- -v
  expect_status 0
  expect_out '^--help -n 7 --fabric x -- -v$'
  run "$WEFT" run -n 1 -- echo -n --help
  expect_out '^--help$'
}

nodes_start_in_the_launchers_folder() {
  mkdir "a folder" && cd "a folder"
  run "$WEFT" run -n 2 pwd
  expect_out '/a folder$'
}

standard_input_goes_to_node_0_and_to_nobody_else() {
  status=0
  seq 100 | "$WEFT" run -n 3 --tag-output cat >out 2>err || status=$?
  expect_status 0
  expect_lines 100
  expect_out '^\[0\] 100$'
  expect_no_out '^\[[12]\]'
}

a_lot_of_standard_input_arrives_whole() {
  head -c 8000000 /dev/urandom >data
  status=0
  "$WEFT" run -n 2 sha256sum <data >out 2>err || status=$?
  expect_status 0
  expect_out "^$(sha256sum <data)$"
}

a_slow_reader_of_standard_input_gets_all_of_it() {
  status=0
  seq 300000 | "$WEFT" run -n 2 sh -c 'sleep 0.5; md5sum' >out 2>err || status=$?
  expect_out "^$(seq 300000 | md5sum)$"
}

a_job_ends_although_its_standard_input_does_not() {
  status=0
  yes | timeout 10 "$WEFT" run -n 2 sh -c 'test $WEFT_NODE = 1 || head -1' >out 2>err || status=$?
  expect_status 0
  expect_out '^y$'
}

closed_standard_streams_do_no_harm() {
  status=0
  "$WEFT" run -n 2 "$PROBE" cards <&- >out 2>err || status=$?
  expect_status 0
  expect_lines 2
  "$WEFT" run -n 2 "$PROBE" cards <&- >&- 2>&- || fail "without any stream"
}

a_job_in_the_background_of_a_terminal_leaves_its_input_alone() {
  status=0
  printf 'set -m\n%s run -n 2 sh -c "echo ran; sleep 1" &\nread line; echo "got <$line>"\nwait; exit\n' "$WEFT" >commands
  (sleep 0.5; echo for the shell; sleep 2) | timeout 20 script -qec "bash commands" /dev/null >out 2>err || status=$?
  tr -d '\r' <out >clean && mv clean out
  expect_out '^got <for the shell>$'
  [ "$(grep -c '^ran$' out)" = 2 ] || fail "the job did not run"
}

nodes_of_another_build_are_refused() {
  run "$WEFT" run -n 3 sh -c 'test $WEFT_NODE = 1 && exec "$1" cards; sleep 0.3; exec "$0" cards' "$OTHER_PROBE" "$PROBE"
  expect_status 1
  expect_err '^weft: node [0-9] \(host .*, pid [0-9]+\) runs a different build of the program than node 1 \(host .*\); copy the same file to every host$'
}

a_job_is_joined_once() {
  run "$WEFT" run -n 1 "$PROBE" twice
  expect_status 0
  expect_out '^second: node 0 has already been part of this job'
}

a_job_runs_inside_a_job() {
  run "$WEFT" run -n 2 "$WEFT" run -n 2 "$PROBE" cards
  expect_status 0
  expect_lines 4
}

the_version_is_the_projects() {
  run "$WEFT" --version
  expect_out "^weft $WEFT_EXPECTED_VERSION$"
}

check four_nodes_meet_and_exchange_their_cards
check many_exchanges_among_eight_nodes_stay_in_step
check a_program_started_by_itself_is_a_job_of_one
check a_program_that_never_joins_runs_as_it_is
check all_nodes_share_the_secrets_and_no_two_jobs_do
check the_secrets_are_neither_in_the_environment_nor_on_a_command_line
check options_reach_every_node_and_the_command_line_wins_over_the_environment
check an_impairment_is_of_udp_and_chooses_it
check the_environment_gives_options_to_a_program_started_by_itself
check variables_are_set_and_passed_on
check everything_after_the_program_is_the_programs
check nodes_start_in_the_launchers_folder
check standard_input_goes_to_node_0_and_to_nobody_else
check a_lot_of_standard_input_arrives_whole
check a_slow_reader_of_standard_input_gets_all_of_it
check a_job_ends_although_its_standard_input_does_not
check closed_standard_streams_do_no_harm
check a_job_in_the_background_of_a_terminal_leaves_its_input_alone
check nodes_of_another_build_are_refused
check a_job_is_joined_once
check a_job_runs_inside_a_job
check the_version_is_the_projects
summary
