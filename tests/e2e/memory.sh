# Shared memory with real processes: every protocol on every fabric that it can run on, both page engines, 1 to 8 nodes.
source "$(dirname "$0")/lib.sh"
: "${MEMORY_PROBE:?the program memory_probe}" "${C_PROBE:?the program c_probe}"

right_on() { # nodes, then options of weft run
  local nodes=$1
  shift
  run "$WEFT" run -n "$nodes" "$@" "$MEMORY_PROBE"
  expect_status 0
  expect_out "^all: right on $nodes nodes$"
}

direct_is_right() {
  for n in 1 2 4 8; do right_on $n --protocol direct; done
  right_on 4 --protocol direct --fabric udp
}
direct_is_what_a_job_on_one_host_uses() {
  run "$WEFT" run -n 2 "$MEMORY_PROBE" shift
  expect_status 0
}
cashmere_is_right_on_shm() { for n in 1 2 3 4 8; do right_on $n --protocol cashmere; done; }
cashmere_is_right_on_shm_with_mprotect() { for n in 2 3 8; do right_on $n --protocol cashmere --engine mprotect; done; }
cashmere_with_copies_is_right_on_shm() { for n in 1 2 3 4 8; do right_on $n --protocol cashmere:copied; done; }
cashmere_with_copies_is_right_on_shm_with_mprotect() { for n in 2 3 8; do right_on $n --protocol cashmere:copied --engine mprotect; done; }
cashmere_is_right_on_udp() { for n in 2 4; do right_on $n --protocol cashmere --fabric udp; done; }
cashmere_is_right_on_ofi() { right_on 4 --protocol cashmere --fabric ofi; }
hlrc_is_right_on_shm() { for n in 1 2 3 4 8; do right_on $n --protocol hlrc; done; }
hlrc_is_right_on_shm_with_mprotect() { for n in 2 3 8; do right_on $n --protocol hlrc --engine mprotect; done; }
hlrc_is_right_on_udp() { for n in 2 4; do right_on $n --protocol hlrc --fabric udp; done; }
hlrc_is_right_on_udp_that_loses() { right_on 4 --protocol hlrc --fabric udp --impair loss=5%; }
the_variants_are_right() {
  local variant
  for variant in auto hlrc-au aurc hlrc-moving hlrc-update; do
    right_on 3 --protocol $variant
    right_on 2 --protocol $variant --engine mprotect
    right_on 2 --protocol $variant --fabric udp --impair loss=1%
  done
}
cashmere_with_other_notices_is_right() {
  local variant
  for variant in immediate unsafe=1 immediate+unsafe=2; do
    right_on 3 --protocol cashmere:$variant
    right_on 2 --protocol cashmere:$variant --engine mprotect
    right_on 2 --protocol cashmere:$variant --fabric udp --impair loss=1%
  done
}
hlrc_is_right_on_ofi() { right_on 4 --protocol hlrc --fabric ofi; }
lrc_is_right_on_shm() { for n in 1 2 8; do right_on $n --protocol lrc; done; }
lrc_is_right_on_shm_with_mprotect() { right_on 3 --protocol lrc --engine mprotect; }
lrc_is_right_on_udp_that_loses() { right_on 4 --protocol lrc --fabric udp --impair loss=5%; }
lrc_is_right_on_ofi() { right_on 4 --protocol lrc --fabric ofi; }
lrc_is_right_with_little_memory() {
  right_on 4 --protocol lrc --protocol-memory 64K
  right_on 2 --protocol lrc --protocol-memory 64K --fabric udp
}
lrc_is_right_to_stay_within_its_memory() { # tests/dst has a longer one
  run "$WEFT" run -n 2 --protocol lrc --protocol-memory 256K --stats=stats "$MEMORY_PROBE" handover 4000
  expect_status 0
  expect_out '^handover: right on 2 nodes$'
  local most
  for most in $(sed -n 's/.*"protocol_memory": \([0-9]*\).*/\1/p' stats); do
    [ "$most" -le 262144 ] || fail "$most bytes are more than 256K"
  done
  grep -qE '"collections": [1-9]' stats || fail "nothing was collected"
}

an_untouched_hundred_gib_is_right_and_free() {
  local way
  for way in 'direct' 'cashmere --engine uffd' 'cashmere --engine mprotect' 'cashmere:copied --engine uffd' 'cashmere:copied --engine mprotect' 'hlrc --engine uffd' 'hlrc --engine mprotect' 'lrc --engine uffd' 'lrc --engine mprotect'; do
    # shellcheck disable=SC2086
    run "$WEFT" run -n 2 --protocol $way "$MEMORY_PROBE" spacious $([ "$way" = direct ] && echo 2)
    expect_status 0
    expect_out '^spacious: right on 2 nodes$'
  done
}
nodes_of_one_host_share_huge_pages() {
  if [ ! -e /sys/kernel/mm/transparent_hugepage ] || [ "$(printf '6.1\n%s\n' "$(uname -r)" | sort -V | head -1)" != 6.1 ]; then
    echo 'not looked for: this kernel makes no huge pages on request' >note
    return
  fi
  run "$WEFT" run -n 2 --protocol direct "$MEMORY_PROBE" dense
  expect_status 0
  expect_out '^dense: right on 2 nodes$'
}
the_page_engine_that_works_is_right() {
  run "$WITHOUT_USERFAULTFD" "$WEFT" run -n 2 --protocol cashmere "$MEMORY_PROBE"
  expect_status 0
  expect_out '^all: right on 2 nodes$'
  run "$WITHOUT_USERFAULTFD" "$WEFT" run -n 2 --protocol cashmere --engine uffd "$MEMORY_PROBE"
  expect_status 70
  expect_one_sentence '^weft: node [01] .*: userfaultfd: Operation not permitted; leave --engine out for the one that works here$'
}
a_program_in_c_is_right() {
  local protocol
  for protocol in direct cashmere hlrc lrc; do
    run "$WEFT" run -n 2 --protocol $protocol "$C_PROBE"
    expect_status 0
    expect_out '^c: right on 2 nodes$'
    run "$WEFT" run -n 2 --protocol $protocol "$C_PROBE" wrong
    expect_status 70
    expect_one_sentence '^weft: node [01] .*: a mutex was unlocked by a thread that does not hold it; '
  done
}
the_job_is_right_to_end_when_a_node_is_killed() {
  local fabric protocol when started
  for fabric in shm udp; do
    for protocol in direct cashmere cashmere:copied hlrc lrc; do
      [ $fabric = udp ] && [ $protocol = cashmere:copied ] && continue # what cashmere is there
      for when in fault holding home barrier waiting; do
        [ $protocol = lrc ] && [ $when != home ] && [ $when != fault ] && continue # its locks and barriers are those of hlrc
        started=$SECONDS
        run "$WEFT" run -n 3 --fabric $fabric --protocol $protocol "$MEMORY_PROBE" die $when
        expect_status 137
        grep -qE '^weft: node 1 .* was killed by signal 9 \(Killed\); the job was ended$' err || fail "node 1 is not named"
        [ $((SECONDS - started)) -le 5 ] || fail "it took $((SECONDS - started)) s with $protocol on $fabric, $when"
      done
    done
  done
}

an_unknown_protocol_is_refused() {
  run "$WEFT" run -n 2 --protocol none "$MEMORY_PROBE"
  [ "$status" != 0 ] || fail "expected an exit status that is not 0"
  grep -q "there is no protocol 'none'; use auto, direct, .*hlrc.* or lrc" err || fail "expected a sentence that names the choices"
}

for behaviour in $(declare -F | sed -n 's/^declare -f \(.*_right.*\|direct_is_what.*\|nodes_of_one_host.*\|an_unknown.*\)$/\1/p'); do
  [ "$behaviour" = right_on ] || check "$behaviour"
done
summary
