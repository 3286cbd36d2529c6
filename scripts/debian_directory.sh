#!/usr/bin/env bash
# Makes a directory with a Debian that has nothing installed but the packages named, once, and prints its path:
#   debian_directory.sh SUITE [PACKAGE…]
# It is kept in ${XDG_CACHE_HOME:-$HOME/.cache}/ddbg and nobody changes it: work on a copy, or mount over it. Ends with 77
# and one sentence if this machine does not allow it. DDBG_DEBIAN_MIRROR: where packages come from, if not from where this
# machine has its own. Other scripts source this file for its functions.

debian_cache=${XDG_CACHE_HOME:-$HOME/.cache}/ddbg

cannot() {
  echo "$(basename "$0"): $*" >&2
  exit 77
}

# This machine's own Debian mirror: the repository of its origin "Debian" that is no security archive.
debian_mirror() {
  local mirror=${DDBG_DEBIAN_MIRROR:-}
  if [[ -z $mirror ]]; then
    mirror=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
      sed -n 's/^Debian|Debian|//p' | head -n 1)
    [[ -n $mirror ]] || cannot "this machine's apt knows no Debian mirror: set DDBG_DEBIAN_MIRROR"
  fi
  echo "$mirror"
}

# Runs a command by chroot, with proc, dev and sys mounted for as long as it runs.
in_directory() {
  # shellcheck disable=SC2016
  unshare --mount sh -c 'set -e; root=$1; shift
    mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount --rbind /sys "$root/sys"
    exec chroot "$root" "$@"' in_directory "$@"
}

# Debootstrap itself resolves few dependencies and waits for the disk at every file: packages go in by apt.
install_in_directory() {
  local root=$1
  shift
  cp /etc/resolv.conf "$root/etc/"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/ddbg"
  # A mirror may be some weeks behind.
  # shellcheck disable=SC2016
  in_directory "$root" env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -o Acquire::Check-Valid-Until=false update && apt-get install -y \
    --no-install-recommends "$@" && apt-get clean' install "$@"
}

debian_directory() {
  local suite=$1 bare mirror package
  bare=$debian_cache/debootstrap-$suite
  shift
  for package in "$@"; do bare+=+$package; done
  mkdir -p "$debian_cache"
  exec 8>"$bare.lock"
  flock 8
  if [[ ! -e $bare/.complete ]]; then
    command -v debootstrap >/dev/null || cannot "debootstrap is not installed (scripts/install_deps.sh --test)"
    mirror=$(debian_mirror) || exit
    rm -rf --one-file-system "$bare"
    if ! debootstrap --variant=minbase "$suite" "$bare" "$mirror" >"$bare.log" 2>&1 ||
      { [[ $# != 0 ]] && ! install_in_directory "$bare" "$@" >>"$bare.log" 2>&1; }; then
      tail -n 3 "$bare.log" >&2
      cannot "debootstrap and apt could not fetch $suite${*:+ with $*} from this machine's mirror"
    fi
    touch "$bare/.complete"
  fi
  exec 8>&-
  echo "$bare"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  [[ $(id -u) == 0 ]] || cannot "needs root, for chroot and mounts"
  debian_directory "$@"
fi
