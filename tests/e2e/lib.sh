# What the end-to-end tests of the launcher share. A test sources this, defines one function a behaviour, calls `check` with each name,
# and ends with `summary`. Inside a behaviour: `run` a command, then `expect_...`; the first expectation that fails ends it. What it has
# measured goes into the file note.
set -u
: "${WEFT:?the program weft}" "${PROBE:?the program probe_node}"
scratch=$(mktemp -d)
failures=0
cleanups=()
exec </dev/null # nothing here may take the input of whoever runs the tests

at_end() { cleanups+=("$*"); }
clean_up() {
  local i
  for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do eval "${cleanups[i]}"; done
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# Ends the whole test where the machine lacks something that it needs.
cannot_test() {
  echo "FAILED  cannot be tested here: $*; 'scripts/setup' installs what is needed, and the tests run as root"
  exit 1
}

check() {
  local started=$SECONDS
  rm -rf "$scratch/case" && mkdir "$scratch/case"
  if (cd "$scratch/case" && "$1") >"$scratch/log" 2>&1; then
    echo "ok      $1 ($((SECONDS - started)) s)$(sed 's/^/: /' "$scratch/case/note" 2>/dev/null)"
  else
    echo "FAILED  $1"
    sed 's/^/        /' "$scratch/log"
    failures=$((failures + 1))
  fi
}

summary() {
  echo "$failures failed"
  exit $((failures > 0))
}

fail() {
  echo "$*"
  echo "status $status; standard output:"
  head -c 3000 out
  echo "standard error:"
  head -c 3000 err
  exit 1
}

# Runs a command to its end; leaves its output in the files out and err.
status=
run() {
  status=0
  timeout -k 5 25 "$@" >out 2>err || status=$?
}

expect_status() { [ "$status" = "$1" ] || fail "expected exit status $1"; }
expect_out() { grep -qE -- "$1" out || fail "expected on standard output: $1"; }
expect_no_out() { ! grep -qE -- "$1" out || fail "not expected on standard output: $1"; }
expect_err() { grep -qE -- "$1" err || fail "expected on standard error: $1"; }
expect_lines() { [ "$(wc -l <out)" = "$1" ] || fail "expected $1 lines of output"; }
expect_one_sentence() {
  expect_err "$1"
  [ "$(grep -c '' err)" = 1 ] || fail "expected one line on standard error"
}

# Waits up to 20 s for a job in the background of the test; leaves its exit status in $status.
ended() {
  local tenths
  for ((tenths = 0; tenths < 200; tenths++)); do
    alive "$1" || break
    sleep 0.1
  done
  kill -9 "$1" 2>/dev/null
  status=0
  wait "$1" || status=$?
}

alive() { [ -e "/proc/$1" ] && [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)" != Z ]; }

# Waits up to $1 tenths of a second for all of the given processes to be gone.
expect_gone() {
  local tenths=$1 pid left
  shift
  [ $# -gt 0 ] || fail "there are no processes to look for"
  for ((; tenths >= 0; tenths--)); do
    left=
    for pid in "$@"; do ! alive "$pid" || left="$left $pid"; done
    [ -n "$left" ] || return 0
    sleep 0.1
  done
  fail "still running:$left"
}

# Waits up to 10 s for a file to have a number of lines that match.
wait_for() {
  local count=$1 pattern=$2 file=$3 i
  for ((i = 0; i < 100; i++)); do
    [ ! -e "$file" ] || [ "$(grep -cE -- "$pattern" "$file")" -lt "$count" ] || return 0
    sleep 0.1
  done
  fail "waited in vain for $count lines like '$pattern' in $file"
}

parent_of() { ps -o ppid= -p "$1" | tr -d ' '; }
first_child_of() { ps -o pid= --ppid "$1" | head -1 | tr -d ' '; }

pids_in() { sed -n 's/^\(\[[0-9]*\] \)\?pid //p' "$1"; }

# Everything below a process, for tests that look for leftovers.
descendants_of() {
  local child
  for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    echo "$child"
    descendants_of "$child"
  done
}

# Everything that a behaviour starts has its folder as working directory, and nothing else has.
nothing_is_left() {
  local link left=
  for link in /proc/[0-9]*/cwd; do
    local pid=${link#/proc/}
    pid=${pid%/cwd}
    [ ! "$link" -ef . ] || [ "$pid" = $BASHPID ] || [ "$pid" = "${holder:-}" ] || left="$left $pid"
  done
  [ -z "$left" ] || fail "still running:$left"
}
