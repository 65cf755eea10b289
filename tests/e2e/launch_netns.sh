# `weft run --launcher 'ip netns exec {host}'`: four hosts that are network namespaces.
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/netns.sh"
make_hosts 4
launcher='ip netns exec {host}'
all=$(joined_by , "${hosts[@]}")

nodes_on_four_hosts_meet() {
  run "$WEFT" run --hosts "$all" --launcher "$launcher" "$PROBE" cards 2
  expect_status 0
  expect_lines 8
  for node in 0 1 2 3; do expect_out "^node $node of 4 by weft run, host $node of 4: 0.2 1.2 2.2 $"; done
}

slots_say_how_many_nodes_a_host_gets() {
  run "$WEFT" run --hosts "${hosts[0]}:2,${hosts[1]},${hosts[2]}:3" --launcher "$launcher" "$PROBE" same
  expect_status 0
  [ "$(grep -c 'hosts 0 0 1 2 2 2$' out)" = 6 ] || fail "wrong placement"
}

every_node_is_in_its_own_network() {
  run "$WEFT" run --hosts "$all" --launcher "$launcher" --tag-output ip -4 -o addr show dev eth0
  expect_status 0
  for i in 0 1 2 3; do expect_out "^\[$i\] .*inet 10.77.0.$((i + 1))/24"; done
}

a_node_that_dies_is_named_with_its_host() {
  run "$WEFT" run --hosts "$all" --launcher "$launcher" "$PROBE" die 9 2 during
  expect_status 137
  expect_one_sentence "^weft: node 2 \(host ${hosts[2]}, pid [0-9]+\) was killed by signal 9 \(Killed\); the job was ended$"
  for node in 0 1 3; do expect_out "^node $node is told: node 2 was killed by signal 9 \(Killed\)$"; done
}

a_host_that_is_lost_is_named() {
  "$WEFT" run --hosts "$all" --launcher "$launcher" "$PROBE" hang >out 2>err &
  local job=$! everything
  wait_for 4 '^pid' out
  everything="$(descendants_of $job)"
  # The agent of a host is the parent of its node; which one it is, its network says.
  for pid in $(pids_in out); do
    [ "$(ip netns identify "$pid")" != "${hosts[1]}" ] || kill -9 "$(parent_of "$pid")"
  done
  ended $job
  expect_status 1
  expect_one_sentence "^weft: host ${hosts[1]} was lost with node 1: its agent ended; the job was ended$"
  expect_gone 10 $everything
}

# From the cut to the end of the job; the sentence names the host that was cut off, although it finds the three others unreachable itself.
cut_off_host_is_named() {
  local fabric=$1 mode=$2 started took
  "$WEFT" run --hosts "$all" --launcher "$launcher" --fabric "$fabric" "$PROBE" "$mode" >out 2>err &
  local job=$! everything
  wait_for 4 '^up$' out
  everything="$(descendants_of $job)"
  started=$(date +%s%N)
  ip -n "$net" link set p2 down
  ended $job
  took=$((($(date +%s%N) - started) / 1000000))
  ip -n "$net" link set p2 up
  echo "$took ms" >note
  expect_status 1
  expect_one_sentence "^weft: node 2 \(host ${hosts[2]}, pid [0-9]+\) is unreachable: .*; the job was ended$"
  [ $took -lt 5000 ] || fail "that took too long"
  expect_gone 10 $everything
}
a_host_cut_off_is_named_within_5_seconds_over_udp() { cut_off_host_is_named udp talk; }
a_host_cut_off_is_named_within_5_seconds_over_ofi() { cut_off_host_is_named ofi talk; }
a_host_cut_off_is_named_over_ofi_although_all_wait() { cut_off_host_is_named ofi listen; }

ctrl_c_reaches_every_host() {
  "$WEFT" run --hosts "$all" --launcher "$launcher" "$PROBE" hang >out 2>err &
  local job=$! everything
  wait_for 4 '^pid' out
  everything="$(descendants_of $job)"
  kill -INT $job
  ended $job
  expect_status 130
  expect_gone 0 $everything
}

standard_input_goes_to_the_host_of_node_0() {
  status=0
  seq 5 | "$WEFT" run --hosts "$all" --launcher "$launcher" --tag-output cat >out 2>err || status=$?
  expect_status 0
  expect_lines 5
  expect_out '^\[0\] 5$'
}

a_wrong_host_is_named() {
  run "$WEFT" run --hosts "${hosts[0]},no-such-host" --launcher "$launcher" hostname
  expect_status 1
  expect_one_sentence '^weft: host no-such-host could not be reached \(.*no-such-host.*\); check its name'
}

check nodes_on_four_hosts_meet
check slots_say_how_many_nodes_a_host_gets
check every_node_is_in_its_own_network
check a_node_that_dies_is_named_with_its_host
check a_host_that_is_lost_is_named
check a_host_cut_off_is_named_within_5_seconds_over_udp
check a_host_cut_off_is_named_within_5_seconds_over_ofi
check a_host_cut_off_is_named_over_ofi_although_all_wait
check ctrl_c_reaches_every_host
check standard_input_goes_to_the_host_of_node_0
check a_wrong_host_is_named
summary
