#!/usr/bin/env bash
# One MPI job over node1 and node2 without ssh: runs on both, with NODE=1 or NODE=2.
#   two_nodes.sh RANKS PROGRAM [ARGUMENT...]
# MPICH's "manual" launcher prints the command that each node has to run; node 1 puts node 2's on the shared folder
# /launch (LAUNCH_DIR), and each node runs its own.
set -euo pipefail

ranks=$1
shift
folder=${LAUNCH_DIR:-/launch}
library=${DDBG_LIBRARY:-/opt/ddbg/build/install/lib/libddbg.so}

# Runs the command in file $1 once it is there.
run_proxy() {
  until [[ -s $1 ]]; do sleep 0.2; done
  local -a words
  read -ra words <"$1"
  rm -f "$1"
  "${words[@]}"
}

if [[ $NODE == 1 ]]; then
  # MPICH gives the nodes nothing in common to name the run by; mpiexec hands this on to all ranks.
  export DDBG_RUN_ID=${DDBG_RUN_ID:-two-nodes-$(date +%Y%m%dT%H%M%S)}
  rm -f "$folder"/proxy.*
  run_proxy "$folder/proxy.0" &
  mpiexec.mpich -launcher manual -hosts node1,node2 -n "$ranks" -genv LD_PRELOAD "$library" "$@" 2>&1 |
    while read -r word rest; do
      case $word in
        HYDRA_LAUNCH:)
          id=${rest##*--proxy-id }
          echo "$rest" >"$folder/part"
          mv "$folder/part" "$folder/proxy.${id%% *}"
          ;;
        HYDRA_LAUNCH_END) ;;
        *) echo "$word $rest" ;;
      esac
    done
  wait
else
  run_proxy "$folder/proxy.1"
fi
