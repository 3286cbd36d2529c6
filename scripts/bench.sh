#!/usr/bin/env bash
# What a recorded MPI call costs: ns per call bare, with ddbg off, without stacks and with stacks, on this machine in one
# run, the modes interleaved. Prints Markdown: medians over the rounds and what each mode adds. --rounds N (5), --depth N
# (4: frames of the program's own above the call), --mpi openmpi|mpich.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=5 depth=4 mpi=openmpi
while (($#)); do
  case $1 in
    --rounds) rounds=$2 ;;
    --depth) depth=$2 ;;
    --mpi) mpi=$2 ;;
    *)
      echo "bench.sh: unknown option '$1'; there are --rounds N, --depth N, --mpi openmpi|mpich" >&2
      exit 2
      ;;
  esac
  shift 2
done

prefix=${DDBG_PREFIX:-$PWD/build/install}
library=$prefix/lib/libddbg.so
[[ -e $library ]] || { echo "bench.sh: $library is missing; run scripts/build.sh first" >&2; exit 2; }

work=$(mktemp -d)
export DDBG_DIR=$work/runs DDBG_SOCKET=$work/collector.sock
"$prefix/bin/ddbg-collector" --foreground --socket "$DDBG_SOCKET" --idle-seconds 600 2>/dev/null &
collector=$!
trap 'kill $collector 2>/dev/null || true; wait $collector 2>/dev/null || true; rm -rf "$work"' EXIT

"mpicc.$mpi" -O2 -g -o "$work/call_cost" tests/bench/call_cost.c
# A process alone is a job of one rank: no launcher in between.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
bench() { # mode, environment…
  local mode=$1
  shift
  env "$@" "$work/call_cost" "$depth" 2>/dev/null | sed "s/^/$mode /" >>"$work/samples"
}
for ((i = 0; i < rounds; ++i)); do
  bench bare DDBG=1
  bench off LD_PRELOAD="$library" DDBG=0
  bench no-stacks LD_PRELOAD="$library" DDBG_STACKS=off
  bench stacks LD_PRELOAD="$library" DDBG_STACKS=all
done

echo "\`scripts/bench.sh --rounds $rounds --depth $depth --mpi $mpi\` on $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs), $(nproc) cores:"
echo
awk '
  { samples[$1, $2] = samples[$1, $2] " " $3; calls[$2] }
  function median(text,   values, n, i, j, t) {
    n = split(text, values, " ")
    for (i = 1; i <= n; ++i) for (j = i + 1; j <= n; ++j) if (values[j] + 0 < values[i] + 0) { t = values[i]; values[i] = values[j]; values[j] = t }
    return values[int((n + 1) / 2)]
  }
  END {
    print "| call | bare ns | off adds | no stacks adds | stacks add |"
    print "|---|---|---|---|---|"
    for (call in calls) {
      bare = median(samples["bare", call])
      printf "| %s | %.1f | %+.1f | %+.1f | %+.1f |\n", call, bare, median(samples["off", call]) - bare, \
        median(samples["no-stacks", call]) - bare, median(samples["stacks", call]) - bare
    }
  }' "$work/samples"
