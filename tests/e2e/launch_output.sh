# What nodes print arrives: whole lines, the right stream, nothing lost, and a slow reader costs no memory.
source "$(dirname "$0")/lib.sh"

# Every line of a file is one letter, that many times.
whole_lines() {
  [ "$(awk -v n="$1" 'length($0) != n' "$2" | wc -l)" = 0 ] && [ "$(tr -s a-h <"$2" | grep -cvE '^[a-h]$')" = 0 ] || fail "some lines are not whole"
}

lines_of_eight_busy_nodes_stay_whole() {
  run "$WEFT" run -n 8 "$PROBE" lines 4000 100
  expect_status 0
  [ "$(wc -l <out)" = 24000 ] || fail "expected 24000 lines on standard output, not $(wc -l <out)"
  [ "$(wc -l <err)" = 8000 ] || fail "expected 8000 lines on standard error, not $(wc -l <err)"
  whole_lines 100 out
  whole_lines 100 err
  [ "$(sort out err | uniq -c | awk '{print $1}' | sort -u)" = 4000 ] || fail "some lines are lost"
}

lines_longer_than_the_buffer_are_passed_in_pieces_and_no_byte_is_lost() {
  run "$WEFT" run -n 4 "$PROBE" lines 6 300000
  expect_status 0
  for letter in a b c d; do
    [ "$(cat out err | tr -cd $letter | wc -c)" = 1800000 ] || fail "bytes of node $letter are lost"
  done
  ! grep -qE 'ab|ba|ac|ca|ad|da|bc|cb|bd|db|cd|dc' out || fail "two nodes share a line"
}

both_streams_in_one_pipe_stay_whole_too() {
  status=0
  timeout 25 "$WEFT" run -n 8 "$PROBE" lines 300 7000 2>&1 | cat >out || status=$?
  expect_lines 2400
  whole_lines 7000 out
}

tags_begin_every_line() {
  run "$WEFT" run -n 3 --tag-output sh -c 'for i in 1 2 3; do echo "line $i"; done; printf "no end"; echo problem >&2'
  expect_status 0
  for node in 0 1 2; do
    expect_out "^\[$node\] line 3$"
    expect_out "^\[$node\] no end$"
    expect_err "^\[$node\] problem$"
  done
  [ "$(grep -cE '^\[[012]\] ' out)" = 12 ] || fail "expected 12 lines, each with its tag"
}

the_last_words_without_an_end_of_line_are_passed_on() {
  run "$WEFT" run -n 1 printf 'a\nb'
  [ "$(od -c out | head -1)" = "$(printf 'a\nb' | od -c | head -1)" ] || fail "changed"
  run "$WEFT" run -n 4 printf 'word'
  [ "$(grep -c '^word$' out)" = 4 ] || fail "expected four words on four lines"
}

a_single_node_is_not_made_to_wait_for_the_end_of_a_line() {
  "$WEFT" run -n 1 sh -c 'printf question; sleep 5' >out 2>err &
  for _ in 1 2 3 4 5 6 7 8 9 10; do [ ! -s out ] || break; sleep 0.1; done
  kill $!
  wait
  [ "$(cat out)" = question ] || fail "expected the question at once"
}

bytes_of_every_value_pass_unchanged() {
  head -c 3000000 /dev/urandom >data
  run "$WEFT" run -n 1 cat "$PWD/data"
  cmp data out || fail "changed"
}

a_node_that_prints_faster_than_anybody_reads_costs_no_memory() {
  mkfifo pipe
  "$WEFT" run -n 2 sh -c 'test $WEFT_NODE = 1 || exec head -c 300000000 /dev/zero | tr "\0" "x" | fold -w 99' >pipe 2>err &
  local launcher=$! worst=0 size pid
  exec 3<pipe
  sleep 1
  for pid in $launcher $(descendants_of $launcher); do
    case $(tr '\0' ' ' <"/proc/$pid/cmdline") in *"weft run"* | "weft agent "*) ;; *) continue ;; esac
    size=$(sed -n 's/^VmHWM:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$pid/status")
    [ "$size" -le $worst ] || worst=$size
  done
  kill $launcher
  exec 3<&-
  wait
  [ "$worst" -gt 0 ] || fail "found no process to measure"
  # AddressSanitizer keeps what was freed, so an instrumented build is only looked at for hanging.
  ldd "$WEFT" | grep -q asan || [ "$worst" -lt 40000 ] || fail "a process of weft grew to $worst KiB"
}

a_job_ends_with_ctrl_c_although_nobody_reads() {
  mkfifo pipe
  "$WEFT" run -n 2 yes >pipe 2>err &
  local launcher=$!
  exec 3<pipe
  sleep 0.5
  local everything
  everything=$(descendants_of $launcher)
  kill -INT $launcher
  ended $launcher
  exec 3<&-
  expect_status 130
  expect_gone 0 $everything
}

check lines_of_eight_busy_nodes_stay_whole
check lines_longer_than_the_buffer_are_passed_in_pieces_and_no_byte_is_lost
check both_streams_in_one_pipe_stay_whole_too
check tags_begin_every_line
check the_last_words_without_an_end_of_line_are_passed_on
check a_single_node_is_not_made_to_wait_for_the_end_of_a_line
check bytes_of_every_value_pass_unchanged
check a_node_that_prints_faster_than_anybody_reads_costs_no_memory
check a_job_ends_with_ctrl_c_although_nobody_reads
summary
