# A program started by srun finds its peers through PMIx: a real Slurm of one machine, with a configuration, keys, sockets, ports and
# folders of the test's own, which are gone afterwards.
source "$(dirname "$0")/lib.sh"
for program in slurmctld slurmd srun munged mungekey; do
  PATH=$PATH:/usr/sbin command -v $program >/dev/null || cannot_test "there is no $program"
done
[ "$(id -u)" = 0 ] || cannot_test "slurmd needs root"
PATH=$PATH:/usr/sbin

free_port() {
  local port
  for port in $(shuf -i 30000-39999 -n 20); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

# Ends a daemon by its pid file and waits for its end.
end_daemon() {
  local pid i
  pid=$(cat "$1" 2>/dev/null) || return 0
  kill "$pid" 2>/dev/null
  for ((i = 0; i < 50; i++)); do
    alive "$pid" || return 0
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null
}

start_munge() {
  mungekey --create --keyfile="$scratch/munge.key" >/dev/null || return 1
  munged --force --key-file="$scratch/munge.key" --socket="$scratch/munge.socket" --pid-file="$scratch/munged.pid" \
    --log-file="$scratch/munged.log" --seed-file="$scratch/munged.seed" >/dev/null 2>&1 || return 1
  at_end 'end_daemon "$scratch/munged.pid"'
}

start_slurm() {
  local host
  host=$(hostname -s)
  mkdir "$scratch/state" "$scratch/spool"
  cat >"$scratch/slurm.conf" <<END
ClusterName=weft$$
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.socket
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
END
  chmod 755 "$scratch"
  export SLURM_CONF=$scratch/slurm.conf
  slurmctld >"$scratch/start.log" 2>&1 || return 1
  at_end 'end_daemon "$scratch/slurmctld.pid"'
  slurmd >>"$scratch/start.log" 2>&1 || return 1
  at_end 'end_daemon "$scratch/slurmd.pid"'
  for _ in $(seq 100); do
    ! sinfo -h -o %T 2>/dev/null | grep -qE '^(idle|mixed)' || return 0
    sleep 0.1
  done
  return 1
}

start_munge || cannot_test "munged does not start here: $(tail -1 "$scratch/munged.log" 2>/dev/null)"
if ! start_slurm; then
  tail -5 "$scratch/start.log" "$scratch/slurmctld.log" "$scratch/slurmd.log" 2>/dev/null
  echo "FAILED  slurm does not start here"
  exit 1
fi
srun --mpi=list 2>&1 | grep -q pmix || cannot_test "this Slurm has no PMIx"

four_nodes_started_by_srun_meet() {
  run srun -n 4 -O --mpi=pmix "$PROBE" cards 3
  expect_status 0
  expect_lines 12
  for node in 0 1 2 3; do expect_out "^node $node of 4 by PMIx, host 0 of 1: 0.3 1.3 2.3 $"; done
}

all_nodes_started_by_srun_have_the_same_secrets() {
  WEFT_FABRIC=shm run srun -n 3 -O --mpi=pmix "$PROBE" same
  expect_status 0
  [ "$(sort -u out | wc -l)" = 1 ] || fail "nodes differ"
  expect_out ' fabric=shm$'
}

tasks_without_pmix_are_told_what_to_do() {
  run srun -n 2 -O "$PROBE" cards
  [ "$status" != 0 ] || fail "expected a failure"
  expect_err "cannot join: srun started 2 tasks without PMIx, so they cannot find each other; use 'srun --mpi=pmix'"
}

one_task_without_pmix_is_a_job_of_one() {
  run srun -n 1 "$PROBE" cards
  expect_status 0
  expect_out '^node 0 of 1 by alone'
}

a_launcher_inside_an_allocation_works() {
  run srun -n 1 "$WEFT" run -n 2 "$PROBE" cards
  expect_status 0
  expect_out '^node 1 of 2 by weft run'
}

check four_nodes_started_by_srun_meet
check all_nodes_started_by_srun_have_the_same_secrets
check tasks_without_pmix_are_told_what_to_do
check one_task_without_pmix_is_a_job_of_one
check a_launcher_inside_an_allocation_works
summary
