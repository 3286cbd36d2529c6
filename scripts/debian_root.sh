#!/usr/bin/env bash
# Prints the path of a Debian directory with some packages in it, for tests in another release: SUITE [PACKAGE…].
# Made once by debootstrap and kept in ${XDG_CACHE_HOME:-$HOME/.cache}/ddbg; needs root. DDBG_DEBIAN_MIRROR: where
# packages come from, if not from where this machine has its own. Ends with 77 and one sentence if it cannot be made.
set -euo pipefail

cannot() {
  echo "debian_root.sh: $*" >&2
  exit 77
}

suite=${1:?usage: debian_root.sh SUITE [PACKAGE…]}
shift
name=$suite
for package in "$@"; do name+=+$package; done
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ddbg
root=$cache/$name

[[ $(id -u) == 0 ]] || cannot "needs root"
command -v debootstrap >/dev/null || cannot "debootstrap is not installed (scripts/install_deps.sh --test)"
mkdir -p "$cache"
exec 9>"$root.lock"
flock 9
if [[ ! -e $root/.complete ]]; then
  # This machine's own Debian mirror: the repository of its origin "Debian" that is no security archive.
  mirror=${DDBG_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' \
    'Created-By: Packages' 2>/dev/null | sed -n 's/^Debian|Debian|//p' | head -n 1)}
  [[ -n $mirror ]] || cannot "this machine's apt knows no Debian mirror: set DDBG_DEBIAN_MIRROR"
  rm -rf --one-file-system "$root"
  include=$(IFS=,; echo "$*")
  if ! debootstrap --variant=minbase ${include:+--include="$include"} "$suite" "$root" "$mirror" >"$root.log" 2>&1; then
    tail -n 3 "$root.log" >&2
    cannot "debootstrap could not make $name from this machine's mirror"
  fi
  touch "$root/.complete"
fi
echo "$root"
