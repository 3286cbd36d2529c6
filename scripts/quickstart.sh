#!/usr/bin/env bash
# From a fresh machine to a first verdict: installs dependencies, builds, installs into build/install, runs a 4-rank Open
# MPI job with a planted fault under LD_PRELOAD, and prints what ddbg says of it. The job hangs, as the report it is made
# from did (tests/programs/b01_extra_barrier.c); it is ended as soon as the fault is found. Leaves no process behind.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_deps.sh --openmpi
scripts/build.sh

ddbg=$PWD/build/install/bin/ddbg
library=$PWD/build/install/lib/libddbg.so
demo=$PWD/build/quickstart
mkdir -p "$demo"
mpicc.openmpi -g -O1 -o "$demo/extra_barrier" tests/programs/b01_extra_barrier.c

# A collector of this script's own, so that ending it harms nobody, and a mark to find every process of the job by.
private=$(mktemp -d)
export DDBG_SOCKET=$private/collector.sock
export DDBG_QUICKSTART=$private
export DDBG_DIR=$PWD/ddbg-runs
if [[ $(id -u) == 0 ]]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# The processes that were started here and have not ended.
left() {
  local environment pid
  for environment in $(grep -lsxzF "DDBG_QUICKSTART=$private" /proc/[0-9]*/environ); do
    pid=${environment#/proc/} pid=${pid%/environ}
    if [[ -e /proc/$pid ]]; then echo "$pid"; fi  # grep found itself too, but has gone
  done
}

end_all() {
  local signal pid
  for signal in TERM KILL; do
    for pid in $(left); do kill -"$signal" "$pid" 2>/dev/null || true; done
    for _ in $(seq 50); do
      [[ -n $(left) ]] || break 2
      sleep 0.1
    done
  done
  rm -rf "$private"
}
trap end_all EXIT

echo
echo "\$ mpirun -n 4 -x LD_PRELOAD=$library $demo/extra_barrier"
mpirun.openmpi --oversubscribe -n 4 -x LD_PRELOAD="$library" "$demo/extra_barrier" </dev/null &
job=$!

# The job hangs by now, or will; ask until there is a verdict.
found=3
for _ in $(seq 120); do
  found=0
  "$ddbg" diagnose latest >/dev/null 2>&1 || found=$?
  [[ $found == 1 ]] && break
  sleep 0.5
done
echo "(the job hangs: ending it)"
kill -TERM "$job" 2>/dev/null || true
for _ in $(seq 100); do  # mpirun 4.1 sometimes waits for ever after its ranks have gone
  kill -0 "$job" 2>/dev/null || break
  sleep 0.1
done
kill -KILL "$job" 2>/dev/null || true
wait "$job" 2>/dev/null || true

echo
echo "\$ ddbg diagnose latest"
verdict=0
"$ddbg" diagnose latest || verdict=$?
if [[ $verdict != 1 ]]; then
  echo "quickstart.sh: a fault was planted, but ddbg diagnose ended with $verdict" >&2
  exit 1
fi
echo
echo "All of it is in $PWD/build/install. Next: $ddbg run -- mpirun ... your program"
