# `weft report`: one page that names what is wrong with a program's pages, and nothing that is not.
source "$(dirname "$0")/lib.sh"
: "${REPORT_PROBE:?the program report_probe}"

report_of() { # nodes, what the probe does, options of weft run
  run "$WEFT" run -n "$1" "${@:3}" --stats=stats.json "$REPORT_PROBE" "$2"
  expect_status 0
  [ ! -s out ] && [ ! -s err ] || fail "nothing was to be said"
  run "$WEFT" report stats.json -o page.html
  expect_status 0
  expect_out '^page.html$'
}
says() { grep -qE -- "$1" page.html || fail "the page does not say: $1: $(sed 's/<[^>]*>/ /g' page.html | tail -n 60)"; }
says_not() { ! grep -qE -- "$1" page.html || fail "the page says: $1"; }

# The home is one of the three, and makes no diffs.
the_falsely_shared_allocation_is_named() { # options
  report_of 3 falsely "$@"
  says '<td class=.words.>report_probe.cpp:[0-9]+ in make_counters, from report_probe.cpp:[0-9]+ in main<'
  says '<td class=.words.>falsely shared by nodes 0, 1 and 2: bytes 0-63 and 64-127 and 128-191<'
  says 'put what different nodes write on different pages'
}
names_the_falsely_shared_allocation_with_cashmere() { the_falsely_shared_allocation_is_named --protocol cashmere:copied; }
names_the_falsely_shared_allocation_with_hlrc() { the_falsely_shared_allocation_is_named --protocol hlrc; }
names_the_falsely_shared_allocation_with_lrc() { the_falsely_shared_allocation_is_named --protocol lrc; }
names_the_falsely_shared_allocation_with_mprotect() { the_falsely_shared_allocation_is_named --protocol cashmere:copied --engine mprotect; }
names_four_bytes_beside_four_bytes_of_a_c_program() {
  report_of 2 falsely-c --protocol cashmere:copied
  says '<td class=.words.>report_probe.cpp:[0-9]+ in make_small_counters'
  says 'falsely shared by nodes 0 and 1: bytes 0-3 and 4-7<'
}
names_none_where_each_node_has_a_page() {
  report_of 2 padded --protocol cashmere:copied
  says_not 'falsely shared by'
  says 'producer-consumer: node 0 writes, node 1 reads it anew again and again'
  says 'Nothing to improve was found'
}
names_none_where_nodes_write_the_same_bytes() {
  report_of 2 truly --protocol cashmere:copied
  says_not 'falsely shared by'
  says 'migratory: nodes 0 and 1 write the same bytes in turn'
  says 'read-mostly: read by nodes 0 and 1'
}

tells_speed_up_over_several_runs_and_shows_it_in_a_browser() {
  for nodes in 1 2; do
    run "$WEFT" run -n $nodes --protocol cashmere --stats=$nodes.json "$REPORT_PROBE" falsely
    expect_status 0
  done
  run "$WEFT" report 1.json 2.json
  expect_status 0
  cp report.html page.html
  says '<td class=.words.>cashmere:in-place on shm</td><td>1</td><td>[0-9.]+</td><td>1.00</td><td>100%</td>'
  says 'Speed-up over 1 node, cashmere:in-place on shm'
  says 'The nodes share their memory in hardware: there is nothing to tell of pages'
  says_not '(src|href)='
  run chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=1000 --dump-dom "file://$PWD/page.html"
  expect_status 0
  expect_out '<h1>weft report: report_probe</h1>'
  [ "$(grep -c '<svg' out)" = "$(grep -c '<svg' page.html)" ] || fail "the browser sees other drawings than there are"
  expect_out '</html>'
}

refuses_what_is_no_statistics() {
  echo '{"fabric": 3}' >no.json
  run "$WEFT" report no.json
  expect_status 1
  expect_one_sentence "^weft: no.json is not what 'weft run --stats=FILE' writes: "
  echo 'hello' >no.json
  run "$WEFT" report no.json
  expect_status 1
  expect_one_sentence '^weft: no.json is not JSON'
  run "$WEFT" report /no/such/file
  expect_status 1
  expect_one_sentence '^weft: /no/such/file cannot be read'
  [ ! -e report.html ] || fail "there is a report of nothing"
}

command -v chromium >/dev/null || cannot_test "there is no chromium"
command -v addr2line >/dev/null || cannot_test "there is no addr2line"
for behaviour in $(declare -F | sed -n 's/^declare -f \(names_.*\|tells_.*\|refuses_.*\)$/\1/p'); do
  check "$behaviour"
done
summary
