# Whatever is wrong with the command line, the hosts or the machine, `weft run` says so in one sentence, with the fix, and leaves nothing
# running.
source "$(dirname "$0")/lib.sh"

# refused STATUS SENTENCE ARGUMENTS...
refused() {
  local expected=$1 sentence=$2
  shift 2
  run "$WEFT" "$@"
  [ "$status" = "$expected" ] || fail "expected exit status $expected from: weft $*"
  expect_one_sentence "^weft: $sentence"
  nothing_is_left
  [ ! -s out ] || fail "expected nothing on standard output from: weft $*"
}

counts_of_nodes_that_are_none() {
  for count in 0 -3 lots 4097 99999999999999999999 1.5 '' ' 2'; do
    refused 2 '(-n .* is not a number of nodes; use a whole number from 1 to 4096|.*COUNT missing)' run -n "$count" hostname
  done
}
a_program_that_does_not_exist() { refused 127 "host .*: there is no program '.*/nope'; check the path" run -n 2 ./nope; }
a_program_that_is_not_in_the_path() { refused 127 "host .*: there is no program 'no-such' in PATH; " run -n 2 no-such; }
a_program_in_this_folder_without_its_path() {
  echo 'echo hello' >here && chmod +x here
  refused 127 "host .*: there is no program 'here' in PATH; write ./here for the one in this folder" run -n 2 here
}
a_file_that_is_not_executable() {
  echo 'echo hello' >file
  refused 126 "host .*: '.*/file' may not be executed; try 'chmod \+x .*/file'" run -n 2 ./file
}
a_folder_as_a_program() { refused 126 "host .*: '/' is a folder, not a program" run -n 2 /; }
a_program_whose_interpreter_is_missing() {
  printf '#!/no/such/interpreter\n' >script && chmod +x script
  refused 126 "host .*: '.*/script' cannot be started: the interpreter .* is missing" run -n 2 ./script
}
no_program_at_all() { refused 2 "there is no program to run; write it after the options, as in 'weft run -n 4 ./prog'" run -n 2; }
an_option_that_does_not_exist() { refused 2 "there is no option '--bogus'; 'weft run --help' lists them" run -n 2 --bogus hostname; }
a_command_that_does_not_exist() { refused 2 "there is no command 'walk'; 'weft --help' lists them" walk; }
an_option_without_its_value() { refused 2 ".*--hosts.*; see 'weft run --help'" run --hosts; }
a_protocol_that_does_not_exist() { refused 2 "there is no protocol 'wool'; use auto, direct, cashmere, " run -n 2 --protocol wool hostname; }
a_variant_that_does_not_exist() {
  refused 2 "cashmere has no variant 'wool'; use " run -n 2 --protocol cashmere:wool hostname
  refused 2 "cashmere has no variant ''; use " run -n 2 --protocol cashmere: hostname
  refused 2 "the protocol hlrc has no variants; leave ':copied' out" run -n 2 --protocol hlrc:copied hostname
  refused 2 "cashmere uses pages in-place or copied, and only with copies immediate or unsafe; leave one out" run -n 2 --protocol cashmere:in-place+immediate hostname
  refused 2 "cashmere has no variant 'unsafe=0'; use " run -n 2 --protocol cashmere:unsafe=0 hostname
}
pages_in_place_where_no_memory_is_mapped() {
  refused 2 "pages can be used in place on the fabric shm alone" run -n 2 --fabric udp --protocol cashmere:in-place hostname
  refused 2 "pages can be used in place on the fabric shm alone" run -n 2 --fabric ofi --protocol cashmere:in-place hostname
  refused 2 "pages can be used in place on the fabric shm alone" run -n 2 --impair loss=1% --protocol cashmere:in-place hostname
}
a_fabric_that_does_not_exist() { refused 2 "there is no fabric 'wool'; use shm, udp or ofi" run -n 2 --fabric wool hostname; }
the_fabric_of_one_host_on_several() { refused 2 "the fabric shm works inside one host and this job has 2; use --fabric udp or ofi" run --hosts a,b --fabric shm hostname; }
impairments_that_are_none() {
  refused 2 "impairment: 'loss=200%' is not understood: write a share such as 5% or 0.05" run -n 2 --impair loss=200% hostname
  refused 2 "impairment: 'frob=5%' is not understood: the names are loss, dup, " run -n 2 --fabric udp --impair loss=1%,frob=5% hostname
}
an_impairment_of_what_loses_nothing() {
  for fabric in shm ofi; do
    refused 2 "--impair is for datagrams and the fabric $fabric has none; use --fabric udp, or leave --impair out" run -n 2 --fabric $fabric --impair loss=1% hostname
  done
}
durations_that_are_none() {
  for duration in soon 0 -1s 5parsecs; do
    refused 2 "--timeout $duration is not a duration; write it like 500ms, 30s or 2m" run -n 2 --timeout "$duration" hostname
    refused 2 "--dead-after $duration is not a duration; write it like" run -n 2 --dead-after "$duration" hostname
    refused 2 "--stall-after $duration is not a duration; write it like" run -n 2 --stall-after "$duration" hostname
  done
}
ports_that_are_none() {
  for port in 0 x 65535 99999; do refused 2 "--port $port does not leave a port" run -n 2 --port $port hostname; done
}
lists_of_hosts_that_are_garbage() {
  for hosts in ',' 'a,,b' 'a:0' 'a:x' 'a:' ':2' 'a b' '-oProxyCommand=x' 'a;b' 'a:9999'; do
    refused 2 "'.*' in --hosts .*; write hosts like a,b:2,c" run --hosts="$hosts" hostname
  done
}
a_variable_that_is_not_set() { refused 2 "--env NOT_SET: NOT_SET is not set here; set it, or write --env NOT_SET=VALUE" run -n 2 --env NOT_SET hostname; }
a_launcher_without_a_place_for_the_host() { refused 2 "--launcher 'ssh' does not say where the host goes; put \{host\} there" run --hosts a --launcher ssh hostname; }
a_launcher_without_hosts() { refused 2 "--launcher says how to reach hosts, but there are none; name them with --hosts" run -n 2 --launcher 'x {host}' hostname; }
a_launcher_with_an_open_quotation() { refused 2 "the command .* ends inside a quotation" run --hosts a --launcher "ssh '{host}" hostname; }
a_launcher_that_does_not_exist() { refused 127 "the launcher command 'no-such-shell' for host a cannot be started \(No such file or directory\); check --launcher" run --hosts a,b --launcher 'no-such-shell {host}' hostname; }
a_launcher_that_fails() { refused 1 "host b could not be reached \(no way to b\); check its name, and that 'sh' reaches it" run --hosts b --launcher "sh -c 'echo no way to {host} >&2; exit 3'" hostname; }
a_host_where_weft_is_elsewhere() { refused 1 "host a could not be reached \(.*: not found\); say where weft is on that host with --remote-weft" run --hosts a --launcher "sh -c 'exec \$0 agent' /no/such/{host}" hostname; }
one_wrong_host_keeps_all_from_starting() {
  refused 1 'host b could not be reached \(gone\)' run --hosts a,b,c --launcher "sh -c 'test {host} != b || { sleep 0.3; echo gone >&2; exit 1; }; exec \$0 agent'" touch "$PWD/started"
  [ ! -e started ] || fail "a node was started"
}
a_host_that_ssh_cannot_find() {
  refused 1 'host no-such-host.invalid could not be reached \(ssh: .*no-such-host.invalid.*\); check its name' run --hosts no-such-host.invalid hostname
}
a_host_that_refuses_ssh() {
  refused 1 'host localhost could not be reached \(ssh: .*refused.*\); check' run --hosts localhost --launcher 'ssh -o BatchMode=yes -p 1 {host}' hostname
}
a_port_that_is_taken() {
  "$PROBE" hold-port >port &
  local holder=$! port
  wait_for 1 '^port' port
  port=$(sed 's/port //' port)
  run "$WEFT" run -n 2 --fabric udp --port "$port" "$PROBE" open
  kill "$holder"
  expect_status 70
  expect_one_sentence "^weft: node [01] \(host .*, pid [0-9]+\): .*UDP port $port is taken by another process; choose another with --port, or leave it out$"
  nothing_is_left
}
a_libfabric_that_is_missing() {
  local hidden=
  for library in $(ldconfig -p | sed -n 's/.*=> \(.*libfabric.*\)/\1/p'); do
    hidden="$hidden mount --bind /dev/null '$(readlink -f "$library")';"
  done
  run unshare -m sh -c "$hidden exec '$WEFT' run -n 2 --fabric ofi '$PROBE' open"
  expect_status 70
  expect_one_sentence '^weft: node [01] \(host .*, pid [0-9]+\): .*libfabric.so.1 was not found; install it with: apt-get install libfabric1, or use --fabric udp$'
  nothing_is_left
}
a_limit_of_locked_memory_that_is_too_low() {
  for fabric in shm udp ofi; do
    run setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock sh -c "ulimit -l 64; exec '$WEFT' run -n 2 --fabric $fabric --lock-memory '$PROBE' open"
    expect_status 70
    expect_one_sentence '^weft: node [01] \(host .*, pid [0-9]+\): .*cannot lock .* KiB in memory: the limit on locked memory is 64 KiB; raise it \(ulimit -l unlimited\) or run without --lock-memory$'
    nothing_is_left
  done
}
the_same_programs_run_where_nothing_is_wrong() {
  for fabric in shm udp ofi; do
    run "$WEFT" run -n 2 --fabric $fabric --lock-memory "$PROBE" open
    expect_status 0
    [ "$(grep -c '^open$' out)" = 2 ] || fail "expected two nodes"
    nothing_is_left
  done
}
more_nodes_than_slots_is_only_a_note() {
  run "$WEFT" run -n 5 --hosts a:1,b:2 --launcher "sh -c 'exec \$0 agent' $WEFT {host}" "$PROBE" same
  expect_status 0
  expect_one_sentence '^weft: note: 5 nodes on 3 slots'
  expect_out 'hosts 0 1 1 0 1'
}

check counts_of_nodes_that_are_none
check a_program_that_does_not_exist
check a_program_that_is_not_in_the_path
check a_program_in_this_folder_without_its_path
check a_file_that_is_not_executable
check a_folder_as_a_program
check a_program_whose_interpreter_is_missing
check no_program_at_all
check an_option_that_does_not_exist
check a_command_that_does_not_exist
check an_option_without_its_value
check a_protocol_that_does_not_exist
check a_variant_that_does_not_exist
check pages_in_place_where_no_memory_is_mapped
check a_fabric_that_does_not_exist
check the_fabric_of_one_host_on_several
check impairments_that_are_none
check an_impairment_of_what_loses_nothing
check durations_that_are_none
check ports_that_are_none
check lists_of_hosts_that_are_garbage
check a_variable_that_is_not_set
check a_launcher_without_a_place_for_the_host
check a_launcher_without_hosts
check a_launcher_with_an_open_quotation
check a_launcher_that_does_not_exist
check a_launcher_that_fails
check a_host_where_weft_is_elsewhere
check one_wrong_host_keeps_all_from_starting
check a_host_that_ssh_cannot_find
check a_host_that_refuses_ssh
check a_port_that_is_taken
check a_libfabric_that_is_missing
check a_limit_of_locked_memory_that_is_too_low
check the_same_programs_run_where_nothing_is_wrong
check more_nodes_than_slots_is_only_a_note
summary
