#!/usr/bin/env bash
# A sweep simulates every combination, writes JSON and a page, and takes kept reports instead of simulating again.
#   sweep.sh WEFT PROGRAM
set -eu
weft=$1 program=$2
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
run() { "$weft" sim -p 1,2 --latency 500ns,1us --keep "$here/kept" --json "$here/out.json" --html "$here/out.html" "$program" --size 20 --steps 2; }
first=$(run)
[ "$(grep -c 'processors 2' <<<"$first")" = 2 ] || { echo "not every combination: $first"; exit 1; }
[ "$(grep -o '"cycles":' "$here/out.json" | wc -l)" = 4 ] || { echo "not four reports in the JSON"; exit 1; }
[ "$(grep -oE '"(busiest)": *[1-9][0-9]*' "$here/out.json" | wc -l)" -ge 8 ] || { echo "resources are not in the JSON"; exit 1; }
grep -q '<svg' "$here/out.html" || { echo "no chart in the page"; exit 1; }
if grep -qE 'https?://[^"]*\.(js|css)|<script' "$here/out.html"; then echo "the page needs something else"; exit 1; fi
[ "$(find "$here/kept" -name '*.json' | wc -l)" = 4 ] || { echo "not four kept reports"; exit 1; }
for f in "$here"/kept/*.json; do sed -i 's/"cycles": [0-9]*/"cycles": 12345/' "$f"; done
[ "$(run | grep -c ' 12345 ')" = 4 ] || { echo "kept reports were not taken"; exit 1; }
