# System calls on shared memory, with real processes: every protocol, both page engines.
source "$(dirname "$0")/lib.sh"
: "${CALLS_PROBE:?the program calls_probe}" "${FORTIFIED_CALLS_PROBE:?the same, compiled with _FORTIFY_SOURCE}"

right_with() { # protocol, then options of weft run
  local probe
  for probe in "$CALLS_PROBE" "$FORTIFIED_CALLS_PROBE"; do
    run "$WEFT" run -n 2 --protocol "$@" "$probe" "$1"
    expect_status 0
    expect_out '^calls: right on 2 nodes$'
  done
}

calls_work_with_direct() { right_with direct; }
calls_work_with_cashmere_and_uffd() { right_with cashmere:copied --engine uffd; }
calls_work_with_cashmere_and_mprotect() { right_with cashmere:copied --engine mprotect; }
calls_work_in_place() {
  right_with cashmere:in-place --engine uffd
  right_with cashmere:in-place --engine mprotect
}
calls_work_with_hlrc_and_uffd() { right_with hlrc --engine uffd; }
calls_work_with_hlrc_and_mprotect() { right_with hlrc --engine mprotect; }
calls_work_over_udp() { right_with hlrc --fabric udp; }

check calls_work_with_direct
check calls_work_with_cashmere_and_uffd
check calls_work_with_cashmere_and_mprotect
check calls_work_in_place
check calls_work_with_hlrc_and_uffd
check calls_work_with_hlrc_and_mprotect
check calls_work_over_udp
summary
