# Asleep when idle: four nodes that wait for a message use less than a hundredth of a core in all, whatever the fabric.
source "$(dirname "$0")/lib.sh"
seconds=10

# The jobs of all fabrics wait at the same time: what they use is processor time, not time.
start_jobs() {
  local fabric
  for fabric in shm udp ofi; do
    timeout -k 5 40 "$WEFT" run -n 4 --fabric $fabric "$PROBE" idle $seconds >"$scratch/$fabric" 2>&1 &
  done
  wait
}

uses_almost_nothing() {
  cp "$scratch/$1" out && : >err
  [ "$(grep -c '^idle ' out)" = 4 ] || fail "expected four nodes to say what they used"
  awk  -v seconds=$seconds '/^idle / { sum += $2 } END {
    printf "%.4f s of processor time in %d s\n", sum, seconds
    exit sum >= seconds / 100 }' out >note || fail "used $(cat note)"
}
an_idle_job_on_shm_uses_less_than_a_hundredth_of_a_core() { uses_almost_nothing shm; }
an_idle_job_on_udp_uses_less_than_a_hundredth_of_a_core() { uses_almost_nothing udp; }
an_idle_job_on_ofi_uses_less_than_a_hundredth_of_a_core() { uses_almost_nothing ofi; }

start_jobs
check an_idle_job_on_shm_uses_less_than_a_hundredth_of_a_core
check an_idle_job_on_udp_uses_less_than_a_hundredth_of_a_core
check an_idle_job_on_ofi_uses_less_than_a_hundredth_of_a_core
summary
