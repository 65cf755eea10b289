# The trace of a job: a document that Perfetto opens, whose events are those that the protocols' pages tell of.
source "$(dirname "$0")/lib.sh"
: "${REPORT_PROBE:?the program report_probe}" "${TRACE_LINES:?the program trace_lines}"

traced() { # options of weft run
  run "$WEFT" run -n 2 --trace trace.json "$@" "$REPORT_PROBE" page
  expect_status 0
  [ ! -s out ] && [ ! -s err ] || fail "nothing was to be said"
  "$TRACE_LINES" trace.json >lines || fail "this is no trace: $(tail -n 3 trace.json)"
}

# Names of events with their nodes, by time, while the first event of a name of node 1 lasts: "1:read fault 1:fetch ...", without the get
# of small words by which homes are found. Of node 0 only what answers counts: what it does for itself may fall into that time or not.
during() { # name
  awk -v name="$1" '{begin = $3; end = $4; node = $1; n = ""; for (i = 5; i < NF; ++i) n = n (i > 5 ? " " : "") $i
      line[NR] = node ":" n; from[NR] = begin; bytes[NR] = $NF
      if (node == 0 && n !~ /^(handle|send) /) line[NR] = ""
      if (node == 1 && n == name && !seen++) {first = begin; last = end}}
    END {for (i = 1; i <= NR; ++i) if (line[i] != "" && from[i] >= first && from[i] <= last && !(line[i] ~ /:get$/ && bytes[i] ~ /"bytes":(8|128),/)) printf "%s%s", k++ ? " " : "", line[i]}' lines
}
expect_during() { [ "$(during "$1")" = "$2" ] || fail "during '$1' there was '$(during "$1")', not '$2', in: $(cat lines)"; }

an_hlrc_fault_asks_the_home_and_an_unlock_sends_the_changes() {
  traced --protocol hlrc
  expect_during 'read fault' \
    '1:read fault 1:fetch 1:send page_request 0:handle page_request 0:send page_reply 1:handle page_reply'
  expect_during 'lock' \
    '1:lock 1:send lock_request 0:handle lock_request 0:send lock_forward 0:handle lock_forward 0:send lock_grant 1:handle lock_grant 1:acquire'
  expect_during 'unlock' \
    '1:unlock 1:release 1:send home_changes 0:handle home_changes 0:send home_changes_reply 1:handle home_changes_reply'
}
a_cashmere_fault_joins_the_sharers_and_gets_the_page() {
  traced --protocol cashmere:copied
  expect_during 'read fault' '1:read fault 1:fetch 1:atomic 1:enqueue 1:get'
  grep -q '^1 .* put {"bytes":1,"to":0}' lines || fail "the change of one byte did not go home: $(cat lines)"
  ! grep -q 'handle' lines || fail "a handler ran: $(cat lines)"
}
a_cashmere_fault_in_place_moves_nothing() {
  traced --protocol cashmere:in-place
  expect_during 'read fault' '1:read fault'
  ! grep -qE ' (fetch|enqueue|handle) ' lines || fail "something was moved: $(cat lines)"
}
a_direct_job_has_its_barriers() {
  traced --protocol direct
  ! grep -q 'fault' lines || fail "there are no faults with direct: $(cat lines)"
  grep -q ' barrier {"number":' lines || fail "nobody waited at a barrier: $(cat lines)"
}
# Hosts in name only: so their clocks are the same, and what comes of comparing them is known.
a_job_on_two_hosts_has_one_line_of_time() {
  traced --hosts a,b --launcher 'env WHERE={host}' --protocol hlrc
  expect_during 'read fault' \
    '1:read fault 1:fetch 1:send page_request 0:handle page_request 0:send page_reply 1:handle page_reply'
}
a_job_of_one_writes_its_own() {
  WEFT_TRACE=trace.json WEFT_PROTOCOL=cashmere run "$REPORT_PROBE" truly
  expect_status 0
  "$TRACE_LINES" trace.json >lines || fail "this is no trace"
  grep -q ' barrier {"number":2}' lines || fail "there is no second barrier: $(cat lines)"
}
a_file_that_cannot_be_written_is_refused_before_the_start() {
  run "$WEFT" run -n 2 --trace /no/such/folder/trace.json "$REPORT_PROBE" page
  expect_status 2
  expect_one_sentence "^weft: --trace=/no/such/folder/trace.json cannot be written \(No such file or directory\); name a file"
}

for behaviour in $(declare -F | sed -n 's/^declare -f \(an_.*\|a_.*\)$/\1/p'); do
  check "$behaviour"
done
summary
