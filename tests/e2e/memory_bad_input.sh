# Mistakes with shared memory: one sentence each, with the fix, and nothing left running.
source "$(dirname "$0")/lib.sh"
: "${MISTAKE_PROBE:?the program mistake_probe}"

# told MISTAKE SENTENCE
told() {
  local protocol
  for protocol in direct cashmere hlrc lrc; do
    run "$WEFT" run -n 2 --protocol $protocol "$MISTAKE_PROBE" "$1"
    [ "$status" = 70 ] || fail "expected exit status 70 with $protocol from: $1"
    expect_one_sentence "^weft: node [01] \(host .*, pid [0-9]+\): $2"
    expect_no_out 'nobody minds'
    nothing_is_left
  done
}

memory_that_there_is_not() {
  told more_than_there_is '1125899906842624 bytes of shared memory were asked for, and of the 5[0-9]* that there are 5[0-9]* are left; ask for less'
  told more_than_is_left '107374182400 bytes of shared memory were asked for, and of the 5[0-9]* that there are [0-9]* are left; ask for less'
  told more_than_there_are_addresses 'shared memory was asked for [0-9]* elements of 8 bytes, more than there are addresses'
}
memory_where_it_cannot_be() {
  told an_alignment_that_is_none 'an alignment that is no power of two'
  told a_node_that_does_not_exist 'memory was to be placed on node 99; there are nodes 0 to 1'
}
free_of_what_is_no_block() {
  local sentence='0x[0-9a-f]* was freed, but it is not a block of shared memory that is in use; it was freed before, or never came from weft'
  told free_of_private_memory "$sentence"
  told free_of_what_was_never_allocated "$sentence"
  told free_inside_a_block "$sentence"
  told free_inside_a_block_of_another_node "$sentence"
  told free_twice "$sentence"
  told free_twice_of_a_large_block "$sentence"
  told free_twice_by_others "$sentence"
}
unlock_by_who_does_not_hold_it() {
  local sentence='a mutex was unlocked by a thread that does not hold it; the thread that has locked it unlocks it'
  told unlock_of_a_free_mutex "$sentence"
  told unlock_by_another_node "$sentence"
  told unlock_by_another_thread "$sentence"
  told unlock_of_a_shared_mutex_that_is_free 'a (shared )?mutex was unlocked '
  told unlock_shared_without_readers 'a shared mutex was unlocked '
}

leaving_by_an_exception() {
  for protocol in direct cashmere hlrc; do
    run "$WEFT" run -n 2 --protocol $protocol "$MISTAKE_PROBE" an_exception
    expect_status 3
    expect_one_sentence '^weft: node 1 \(host .*, pid [0-9]+\) exited with status 3; the job was ended$'
    nothing_is_left
  done
}

check memory_that_there_is_not
check leaving_by_an_exception
check memory_where_it_cannot_be
check free_of_what_is_no_block
check unlock_by_who_does_not_hold_it
summary
