#!/usr/bin/env bash
# Makes a directory with Debian trixie and its PyTorch for CUDA (616 MB to fetch, 2.4 GB on disk, about 75 s), once, without
# any of NVIDIA's libraries: a package of ours provides their names, and the doubles of tests/fakes stand in for them.
#   torch_directory.sh [--bare]
# Prints two lines: the directory, and where in it the doubles are (for LD_LIBRARY_PATH inside). With --bare it installs no
# doubles and prints the first line only. Kept in ${XDG_CACHE_HOME:-$HOME/.cache}/ddbg/torch-trixie; nobody changes it. Each
# version of the doubles has a folder of its own, so that working trees do not disturb each other.
# Ends with 77 and one sentence if this machine does not allow it. Other scripts source this file for its functions.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/debian_directory.sh
source "$here/debian_directory.sh"

# The names and versions that python3-torch-cuda of trixie asks for.
torch_provides='nvidia-cudnn (= 9.9.9), libcuda.so.1 (= 999), libcuda1 (= 999), libcublas12 (= 12.4.5.8),
 libcublaslt12 (= 12.4.5.8), libcudart12 (= 12.4.127), libcufft11 (= 11.2.1.3), libcurand10 (= 11.1.1),
 libcusolver11 (= 11.6.1.9), libcusparse12 (= 12.3.1.170), libnccl2 (= 2.22.3-1-1), libnvrtc12 (= 12.4.127),
 libnvtoolsext1 (= 12.4.127)'

build_provides() {
  local package=$1 tree
  tree=$(mktemp -d)
  mkdir -p "$tree/DEBIAN"
  cat >"$tree/DEBIAN/control" <<CONTROL
Package: ddbg-provides-nvidia
Version: 1.0
Architecture: amd64
Maintainer: ddbg <ddbg@localhost>
Provides: $torch_provides
Description: stands in for NVIDIA's libraries, whose doubles ddbg's tests bring
CONTROL
  dpkg-deb --build --root-owner-group "$tree" "$package" >/dev/null
  rm -rf "$tree"
}

torch_directory() {
  local root=$debian_cache/torch-trixie mirror
  mkdir -p "$debian_cache"
  exec 9>"$root.lock"
  flock 9
  if [[ ! -e $root/.complete ]]; then
    command -v debootstrap >/dev/null || cannot "debootstrap is not installed (scripts/install_deps.sh --test)"
    mirror=$(debian_mirror) || exit
    rm -rf --one-file-system "$root"
    if ! debootstrap --variant=minbase --components=main,contrib,non-free trixie "$root" "$mirror" >"$root.log" 2>&1; then
      tail -n 3 "$root.log" >&2
      cannot "debootstrap could not fetch trixie from this machine's mirror"
    fi
    # torchrun resolves its own host's name, and stalls for minutes where it cannot.
    printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$root/etc/hosts"
    build_provides "$root/tmp/provides.deb"
    if ! install_in_directory "$root" /tmp/provides.deb python3-torch-cuda libunwind8 >>"$root.log" 2>&1; then
      tail -n 3 "$root.log" >&2
      cannot "PyTorch could not be fetched from this machine's mirror"
    fi
    touch "$root/.complete"
  fi
  exec 9>&-
  echo "$root"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  [[ $(id -u) == 0 ]] || cannot "needs root, for chroot and mounts"
  root=$(torch_directory)
  echo "$root"
  [[ ${1:-} == --bare ]] || "$here/../tests/fakes/install.sh" "$root"
fi
