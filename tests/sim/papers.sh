#!/usr/bin/env bash
# A paper's experiments, quickly: every figure, table and claim is there, with numbers; the same again from kept reports; and a program
# with other arguments changes its own row and no other, and a number of the machine the rows that it concerns. Programs as readers guessed them,
# and all forms of programs, of which those that are usual and those that are guessed come to what they come to by themselves.
#   papers.sh WEFT
set -eu
weft=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
die() { echo "$*"; exit 1; }
rows() { sed -n '/^Table 2/,/order agrees/p' "$1" | grep -E '^[a-z0-9_]+ +[0-9]'; }

"$weft" sim --paper cashmere --quick --keep "$here/kept" --json "$here/c.json" --html "$here/c.html" >"$here/c"
[ "$(rows "$here/c" | wc -l)" = 9 ] || die "not nine programs in the table: $(cat "$here/c")"
[ "$(grep -cE '^(holds|FAILS) ' "$here/c")" = 11 ] || die "not eleven claims: $(cat "$here/c")"
for key in spearman_8 spearman_64 within_factor_1_5_at_8 within_factor_1_5 programs_above_1 programs_larger_at_64 held all references_per_second; do
  grep -qE "^ +\"$key\": -?[0-9]" "$here/c.json" || die "$key is not in the JSON"
done
[ "$(grep -c '<svg' "$here/c.html")" = 8 ] || die "not eight figures on the page"
grep -q 'quick run' "$here/c.html" || die "the page does not say that its run was a quick one"

"$weft" sim --paper cashmere --quick --keep "$here/kept" --instead 'sor --size 128 --steps 2' >"$here/other"
grep -q 'as asked for: sor --size 128 --steps 2' "$here/other" || die "not said that sor is another: $(cat "$here/other")"
changed=$(diff <(rows "$here/c") <(rows "$here/other") | grep '^>' | cut -c3-) || true
[ "${changed%% *}" = sor ] && [ "$(wc -l <<<"$changed")" = 1 ] || die "not sor alone is changed: $changed"

# Which node manages locks concerns programs with locks.
"$weft" sim --paper cashmere --quick --keep "$here/kept" --managers-in-turn 0 --json "$here/m.json" >"$here/machine"
grep -q 'as asked for: --managers-in-turn 0\.' "$here/machine" || die "not said that the machine is another: $(cat "$here/machine")"
grep -q '"managers-in-turn": "0"' "$here/m.json" || die "the JSON does not say that the machine is another"
changed=$(diff <(rows "$here/c") <(rows "$here/machine") | grep '^>' | cut -c3- | cut -d' ' -f1) || true
grep -qx gauss <<<"$changed" && ! grep -qxE 'sor|em3d|mgrid|fft' <<<"$changed" || die "not programs with locks are changed: $changed"

"$weft" sim --paper cashmere --quick --keep "$here/kept" --guessed --json "$here/g.json" >"$here/guessed"
[ "$(rows "$here/guessed" | wc -l)" = 9 ] || die "not nine guessed programs in the table: $(cat "$here/guessed")"
grep -q 'as readers guessed them' "$here/guessed" || die "not said that programs are guessed: $(cat "$here/guessed")"
grep -q '"guessed": true' "$here/g.json" || die "the JSON does not say that programs are guessed"

"$weft" sim --paper cashmere --quick --keep "$here/kept" --forms --json "$here/f.json" --html "$here/f.html" >"$here/forms"
of_paper() { sed -n "s/^ *\"$2\": \(-\?[0-9.]*\),\?$/\1/p" "$1"; }
of_forms() { sed -n "/^ \"$1\": {/,/^ }/s/^ *\"$2\": \(-\?[0-9.]*\),\?$/\1/p" "$here/f.json"; }
for key in spearman_64 within_factor_1_5 programs_above_1 programs_larger_at_64; do
  [ "$(of_paper "$here/c.json" "$key")" = "$(of_forms usual "$key")" ] || die "usual programs have another $key among all forms"
  [ "$(of_paper "$here/g.json" "$key")" = "$(of_forms guessed "$key")" ] || die "guessed programs have another $key among all forms"
done
[ "$(grep -c '^FAILS ' "$here/c")" = "$(sed -n '/^ "usual": {/,/^ }/p' "$here/f.json" | grep -cE '^   "')" ] || die "other claims fail among all forms"
grep -qE '^Of all [0-9]{5,} combinations' "$here/forms" || die "not said what all combinations come to: $(cat "$here/forms")"
[ "$(grep -c '<table' "$here/f.html")" = 2 ] || die "not two tables on the page about forms"

"$weft" sim --paper shrimp --quick --json "$here/s.json" --html "$here/s.html" >"$here/s"
[ "$(grep -cE '^(holds|FAILS) ' "$here/s")" = 10 ] || die "not ten claims: $(cat "$here/s")"
grep -q '"an_interrupt_costs": ' "$here/s.json" || die "there are no numbers in the JSON"
[ "$(grep -c '<svg' "$here/s.html")" = 2 ] || die "not two figures on the page"
