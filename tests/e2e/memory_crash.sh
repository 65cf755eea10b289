# A crash of the program's own looks like one, whatever keeps its shared memory coherent.
source "$(dirname "$0")/lib.sh"
: "${CRASH_PROBE:?the program crash_probe}"

ways=('direct' 'cashmere --engine uffd' 'cashmere --engine mprotect' 'cashmere:copied --engine uffd' 'cashmere:copied --engine mprotect' 'hlrc --engine uffd' 'hlrc --engine mprotect' 'lrc --engine uffd')
ended='^weft: node 1 .* was killed by signal 11 \(Segmentation fault\)'
in_every_way() { # arguments of the probe
  local way
  for way in "${ways[@]}"; do
    # shellcheck disable=SC2086
    run "$WEFT" run -n 2 --protocol $way "$CRASH_PROBE" "$@"
    "$then" "$way"
  done
}

it_crashed() {
  [ "$status" = 139 ] || fail "expected exit status 139 with $1"
  expect_err "$ended"
  [ "$(grep -vcE "$ended" err)" = "$sentences" ] || fail "expected $sentences more sentences with $1"
}
a_crash_ends_the_node_by_its_signal() {
  local then=it_crashed sentences=0
  in_every_way crash null
  in_every_way crash wild
  in_every_way sent
  in_every_way executed
}

it_says_so() {
  sentences=1 it_crashed "$1"
  expect_err "^(\[1\] )?weft: node 1: the page at 0x[0-9a-f]* lies in weft's shared memory, but nothing was ever allocated there; "
}
an_access_to_shared_memory_that_is_not_allocated_is_a_crash() {
  local then=it_says_so
  in_every_way crash unallocated
}

it_survived() {
  [ "$status" = 0 ] || fail "expected exit status 0 with $1"
  expect_out '^(\[0\] )?survived$'
}
a_handler_of_the_programs_own_gets_the_address_and_the_context() {
  local then=it_survived place
  for place in null wild unallocated; do
    in_every_way before $place
    in_every_way after $place
  done
}
threads_that_block_all_signals_can_use_shared_memory() {
  local then=it_survived
  in_every_way blocked
}

it_dumped_core() {
  local core
  core=$(echo core*)
  [ -e "$core" ] || fail "expected a core dump with $1"
  [ "$(stat -c %s "$core")" -lt $((4 << 30)) ] || fail "a core dump of $(stat -c %s "$core") bytes with $1"
  gdb -batch -ex bt "$CRASH_PROBE" "$core" >backtrace 2>&1
  grep -q '^#0 .*go_astray' backtrace || { cat backtrace; fail "expected the place of the crash in the core dump with $1"; }
  rm -f "$core"
}
a_core_dump_shows_where_it_happened() {
  local then=it_dumped_core pattern
  pattern=$(cat /proc/sys/kernel/core_pattern)
  case "$pattern" in *[/\|]*)
    echo "not looked for: core dumps go to '$pattern' here" >note
    return ;;
  esac
  ulimit -c unlimited
  in_every_way crash null
  in_every_way crash unallocated
}

check a_crash_ends_the_node_by_its_signal
check an_access_to_shared_memory_that_is_not_allocated_is_a_crash
check a_handler_of_the_programs_own_gets_the_address_and_the_context
check threads_that_block_all_signals_can_use_shared_memory
check a_core_dump_shows_where_it_happened
summary
