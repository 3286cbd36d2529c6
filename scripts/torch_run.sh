#!/usr/bin/env bash
# Runs a Python program by stock torchrun in the PyTorch directory, on the doubles of CUDA and NCCL (tests/fakes/README.md):
#   torch_run.sh [-x NAME=VALUE]… [-b FOLDER]… RANKS PROGRAM [ARGUMENT…]
# -x sets a variable inside (LD_PRELOAD for instance: torchrun and the ranks then have it, the shell around them not);
# -b lets a folder be seen inside, where it is outside. The program's folder and the working tree are seen by themselves.
# RANKS 0 runs the program alone, without torchrun. Exit code: that of torchrun; 77 if there can be no PyTorch directory.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
variables=() folders=("$(dirname "$here")")
while getopts x:b: option; do
  case $option in
    x) variables+=("$OPTARG") ;;
    b) folders+=("$OPTARG") ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
ranks=${1:?"usage: torch_run.sh [-x NAME=VALUE]… [-b FOLDER]… RANKS PROGRAM [ARGUMENT…]"} program=$(realpath "${2:?}")
shift 2
folders+=("$(dirname "$program")")

directory=$("$here/torch_directory.sh")
root=$(head -n 1 <<<"$directory") fakes=$(tail -n 1 <<<"$directory")

# Debian's PyTorch has no libuv: the rendezvous is a file, a new one each time, in a folder that lives as long as this run.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
folders+=("$scratch")
launch=(python3)
if [[ $ranks != 0 ]]; then
  launch=(torchrun --rdzv-backend c10d --rdzv-endpoint "$scratch/rendezvous" --rdzv-conf store_type=file --nproc-per-node "$ranks")
fi

# shellcheck disable=SC2016
FOLDERS=$(printf '%s\n' "${folders[@]}") unshare --mount sh -c 'set -e; root=$1; shift
  # What a program leaves behind in the usual places is gone with the mounts.
  for place in tmp root; do mount -t tmpfs tmpfs "$root/$place"; done
  echo "$FOLDERS" | while read -r folder; do mkdir -p "$root$folder"; mount --bind "$folder" "$root$folder"; done
  mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount --rbind /sys "$root/sys"
  exec chroot "$root" "$@"' torch_run "$root" \
  env -u LD_PRELOAD -C "$(dirname "$program")" LD_LIBRARY_PATH="$fakes" HOME=/root OMP_NUM_THREADS=1 USE_LIBUV=0 \
  TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 NULLNCCL_VERSION=22203 NULLNCCL_SHM_DIR="$scratch" "${variables[@]}" \
  "${launch[@]}" "$program" "$@"
