#!/usr/bin/env bash
# Fetches the source of a Debian package in the version that a suite has, once, and prints the directory it lies in:
#   debian_source.sh SUITE PACKAGE
# It is kept in ${XDG_CACHE_HOME:-$HOME/.cache}/ddbg and nobody changes it. Needs no line in this machine's apt sources. Ends
# with 77 and one sentence if it cannot be fetched.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/debian_directory.sh
source "$here/debian_directory.sh"

# apt-get with one source only and lists of its own, so that this machine's stay as they are.
own_apt() {
  local state=$1
  shift
  apt-get -qq -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root \
    -o Acquire::Check-Valid-Until=false "$@"
}

debian_source() {
  local suite=$1 package=$2 source state mirror
  source=$debian_cache/source-$suite-$package
  mkdir -p "$debian_cache"
  exec 8>"$source.lock"
  flock 8
  if [[ ! -e $source/.complete ]]; then
    for tool in apt-get dpkg-source xz; do command -v "$tool" >/dev/null || cannot "$tool is not installed"; done
    mirror=$(debian_mirror) || exit
    rm -rf "$source"
    state=$source/apt
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$state/sources.list"
    if ! (own_apt "$state" update && cd "$source" && own_apt "$state" source --download-only "$package" &&
      dpkg-source --no-check -x ./*.dsc tree) >"$source.log" 2>&1; then
      tail -n 3 "$source.log" >&2
      cannot "the source of $package in $suite could not be fetched from this machine's mirror"
    fi
    rm -rf "$state"
    touch "$source/.complete"
  fi
  exec 8>&-
  echo "$source/tree"
}

debian_source "$@"
