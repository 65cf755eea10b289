# `weft run --hosts` over ssh, to a daemon of the test's own on this machine: own keys, own port, own configuration.
source "$(dirname "$0")/lib.sh"
sshd=$(command -v sshd || echo /usr/sbin/sshd)
command -v ssh >/dev/null && [ -x "$sshd" ] || cannot_test "there is no ssh or no sshd"

start_daemon() {
  ssh-keygen -q -t ed25519 -N '' -f "$scratch/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$scratch/user_key" || return 1
  cp "$scratch/user_key.pub" "$scratch/authorized_keys"
  [ "$(id -u)" != 0 ] || mkdir -p /run/sshd # its privilege separation asks for this folder
  for port in $(shuf -i 20000-29999 -n 5); do
    cat >"$scratch/sshd_config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $scratch/host_key
AuthorizedKeysFile $scratch/authorized_keys
PidFile $scratch/sshd.pid
PasswordAuthentication no
StrictModes no
UsePAM no
PermitRootLogin yes
END
    "$sshd" -f "$scratch/sshd_config" -E "$scratch/sshd.log" || continue
    for _ in 1 2 3 4 5 6 7 8 9 10; do
      [ ! -s "$scratch/sshd.pid" ] || break
      sleep 0.1
    done
    at_end 'kill "$(cat "$scratch/sshd.pid")"'
    echo "[127.0.0.1]:$port $(cat "$scratch/host_key.pub")" >"$scratch/known_hosts"
    return 0
  done
  return 1
}
start_daemon || cannot_test "sshd does not start here: $(tail -1 "$scratch/sshd.log" 2>/dev/null)"
launcher="ssh -F none -p $port -i $scratch/user_key -o BatchMode=yes -o IdentitiesOnly=yes -o UserKnownHostsFile=$scratch/known_hosts -o HostKeyAlias=[127.0.0.1]:$port"

nodes_reached_over_ssh_meet() {
  # Two names of one daemon make two hosts.
  run "$WEFT" run --hosts 127.0.0.1:2,localhost --launcher "$launcher {host}" "$PROBE" cards 2
  expect_status 0
  expect_lines 6
  expect_out '^node 2 of 3 by weft run, host 1 of 2: 0.2 1.2 2.2$'
}

the_environment_and_the_folder_go_along() {
  mkdir "a folder" && cd "a folder"
  MINE=1 WEFT_TEST_MARK=2 run "$WEFT" run --hosts 127.0.0.1 --launcher "$launcher {host}" --env MINE --env SET='x y' \
    sh -c 'echo "$MINE|$WEFT_TEST_MARK|$SET|$PWD"; test -n "$SSH_CONNECTION" && echo over ssh'
  expect_status 0
  expect_out '^1\|2\|x y\|.*/a folder$'
  expect_out '^over ssh$'
}

weft_may_be_elsewhere_on_the_host() {
  mkdir "else where" && cp "$WEFT" "else where/weft"
  run "$WEFT" run --hosts 127.0.0.1 --launcher "$launcher {host}" --remote-weft "$PWD/else where/weft" "$PROBE" cards
  expect_status 0
  run "$WEFT" run --hosts 127.0.0.1 --launcher "$launcher {host}" --remote-weft "/no/such/weft" "$PROBE" cards
  expect_status 1
  expect_one_sentence '^weft: host 127.0.0.1 could not be reached \(.*/no/such/weft.*\); say where weft is on that host with --remote-weft$'
}

a_login_shell_that_talks_does_no_harm() {
  run "$WEFT" run --hosts 127.0.0.1 --launcher "$launcher {host} echo Welcome to this host. ;" "$PROBE" cards
  expect_status 0
  expect_lines 1
}

a_node_that_dies_over_ssh_is_named_with_its_host() {
  run "$WEFT" run --hosts 127.0.0.1:2,localhost --launcher "$launcher {host}" "$PROBE" die 9 2 during
  expect_status 137
  expect_one_sentence '^weft: node 2 \(host localhost, pid [0-9]+\) was killed by signal 9 \(Killed\); the job was ended$'
}

nothing_survives_a_killed_launcher_over_ssh() {
  "$WEFT" run --hosts 127.0.0.1:2 --launcher "$launcher {host}" "$PROBE" hang >out 2>err &
  local job=$!
  wait_for 2 '^pid' out
  kill -9 $job
  expect_gone 30 $(pids_in out)
}

nothing_survives_a_lost_connection() {
  "$WEFT" run --hosts 127.0.0.1:2 --launcher "$launcher {host}" "$PROBE" hang >out 2>err &
  local job=$!
  wait_for 2 '^pid' out
  kill -9 "$(first_child_of $job)" # the ssh client
  ended $job
  expect_status 1
  expect_one_sentence '^weft: host 127.0.0.1 was lost with nodes 0 and 1: its agent ended'
  expect_gone 30 $(pids_in out)
}

ctrl_c_reaches_nodes_over_ssh() {
  "$WEFT" run --hosts 127.0.0.1:2 --launcher "$launcher {host}" "$PROBE" orphans >out 2>err &
  local job=$!
  wait_for 6 '^pid' out
  kill -INT $job
  ended $job
  expect_status 130
  expect_gone 0 $(pids_in out)
}

a_key_that_is_not_accepted_is_said() {
  ssh-keygen -q -t ed25519 -N '' -f wrong_key
  run "$WEFT" run --hosts 127.0.0.1 --launcher "${launcher/user_key/case\/wrong_key} {host}" hostname
  expect_status 1
  expect_one_sentence '^weft: host 127.0.0.1 could not be reached \(.*Permission denied.*\); check its name'
}

check nodes_reached_over_ssh_meet
check the_environment_and_the_folder_go_along
check weft_may_be_elsewhere_on_the_host
check a_login_shell_that_talks_does_no_harm
check a_node_that_dies_over_ssh_is_named_with_its_host
check nothing_survives_a_killed_launcher_over_ssh
check nothing_survives_a_lost_connection
check ctrl_c_reaches_nodes_over_ssh
check a_key_that_is_not_accepted_is_said
summary
