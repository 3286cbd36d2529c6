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

debian_directory() {
  local suite=$1 bare mirror package include
  bare=$debian_cache/debootstrap-$suite
  shift
  for package in "$@"; do bare+=+$package; done
  include=$(IFS=,; echo "$*")
  mkdir -p "$debian_cache"
  exec 8>"$bare.lock"
  flock 8
  if [[ ! -e $bare/.complete ]]; then
    command -v debootstrap >/dev/null || cannot "debootstrap is not installed (scripts/install_deps.sh --test)"
    mirror=$(debian_mirror) || exit
    rm -rf --one-file-system "$bare"
    if ! debootstrap --variant=minbase ${include:+--include="$include"} "$suite" "$bare" "$mirror" >"$bare.log" 2>&1; then
      tail -n 3 "$bare.log" >&2
      cannot "debootstrap could not fetch $suite from this machine's mirror"
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
