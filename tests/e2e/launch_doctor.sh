# `weft doctor` says what there is, and for what is missing the line that mends it.
source "$(dirname "$0")/lib.sh"

a_healthy_machine_can_run_weft() {
  run "$WEFT" doctor
  expect_status 0
  expect_out '^weft can run here\.$'
  for what in kernel userfaultfd PAGEMAP_SCAN vm.max_map_count memfd 'locked memory limit' /dev/shm net.core.rmem_max net.core.wmem_max \
    'UDP GSO, GRO' 'fabric shm' 'fabric udp' 'fabric ofi' 'RDMA devices' cores ssh PMIx 'page engine' 'fabric on one host' 'fabric across hosts'; do
    expect_out "^ .* $what  "
  done
}

programs_can_read_it() {
  run "$WEFT" doctor --json
  expect_status 0
  tr -d ' \n' <out >flat && mv flat out
  expect_out '"can_run":true'
  expect_out '"memfd":\{"value":"[^"]*","state":"ok"'
  expect_out '"cores":\{"value":'
  expect_out '"fabric_one_host":\{"value":"shm"'
  expect_out '"page_engine":\{"value":"(uffd|mprotect)"'
}

what_is_missing_comes_with_the_line_that_mends_it() {
  local hidden=
  for library in $(ldconfig -p | sed -n 's/.*=> \(.*lib\(fabric\|pmix\).*\)/\1/p') /usr/lib/*/pmix2/lib/libpmix.so*; do
    hidden="$hidden mount --bind /dev/null '$(readlink -f "$library")' 2>/dev/null;"
  done
  run unshare -m sh -c "$hidden PATH=/nowhere exec '$WEFT' doctor"
  expect_status 0
  expect_out '^  lacking +fabric ofi +libfabric was not found$'
  expect_out 'fabric ofi +apt-get install libfabric1$'
  expect_out '^  lacking +PMIx +not found'
  expect_out 'PMIx +apt-get install libpmix2$'
  expect_out 'ssh +apt-get install openssh-client$'
}

a_low_limit_of_locked_memory_is_said() {
  run setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock sh -c "ulimit -l 64; exec '$WEFT' doctor"
  expect_status 0
  expect_out '^  lacking +locked memory limit +64 KiB$'
  expect_out 'locked memory limit +ulimit -l unlimited'
}

a_network_without_a_loopback_interface_is_said() {
  run unshare -n "$WEFT" doctor
  expect_status 0
  expect_out '^  lacking +fabric udp +no datagrams'
  expect_out 'fabric udp +ip link set lo up$'
}

the_page_engine_is_the_one_that_works() {
  run "$WEFT" doctor
  expect_out 'page engine +uffd: userfaultfd and PAGEMAP_SCAN have all it needs'
  run "$WITHOUT_USERFAULTFD" "$WEFT" doctor
  expect_status 0
  expect_out 'page engine +mprotect: userfaultfd: Operation not permitted, and SIGSEGV works everywhere'
}

check a_healthy_machine_can_run_weft
check programs_can_read_it
check what_is_missing_comes_with_the_line_that_mends_it
check a_low_limit_of_locked_memory_is_said
check the_page_engine_is_the_one_that_works
check a_network_without_a_loopback_interface_is_said
summary
