#!/usr/bin/env bash
# Walks the steps of docker/Dockerfile and then the quick start in a Debian 12 that has nothing installed, without a
# container engine: a debootstrap directory, entered by chroot in namespaces of its own. Needs root and debootstrap.
# The bare system and downloaded packages are kept in ${XDG_CACHE_HOME:-$HOME/.cache}/ddbg; each walk works on a copy.
# Ends with 77 and one sentence if this machine does not allow it. DDBG_DEBIAN_MIRROR: see debian_directory.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=scripts/debian_directory.sh
. scripts/debian_directory.sh

suite=bookworm
cache=$debian_cache

# The part outside the namespaces: a mount or process made inside ends with them, whatever happens.
if [[ ${1:-} != --inside ]]; then
  [[ $(id -u) == 0 ]] || cannot "needs root, for chroot and mounts"
  command -v debootstrap >/dev/null || cannot "debootstrap is not installed (scripts/install_deps.sh --test)"
  unshare --mount --pid --fork true 2>/dev/null || cannot "this machine does not allow new mount and process namespaces"
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9  # one walk at a time
  walk=$(mktemp -d "$cache/walk-XXXXXX")
  trap 'rm -rf --one-file-system "$walk"' EXIT
  unshare --mount --propagation private --pid --fork --kill-child "$0" --inside "$walk"
  exit
fi
walk=$2/root

bare=$(debian_directory "$suite") || exit
mirror=$(debian_mirror) || exit

cp -a --reflink=auto "$bare" "$walk"
echo "deb $mirror $suite main" >"$walk/etc/apt/sources.list"
apt-config dump | grep -E '^Acquire::' >"$walk/etc/apt/apt.conf.d/90host" || true  # its proxy, if it has one
cp -L /etc/resolv.conf /etc/hosts "$walk/etc/"
mkdir -p "$cache/packages/partial" "$walk/var/cache/apt/archives"
mount --bind "$cache/packages" "$walk/var/cache/apt/archives"
mount -t proc proc "$walk/proc"
mount --rbind /dev "$walk/dev"
mount -t tmpfs tmpfs "$walk/dev/shm"
mount --rbind /sys "$walk/sys"

# The tree as it is here: the files that git knows or would add, or all but what was built if this is no clone.
tree() {
  local git=(git -c safe.directory='*')
  if "${git[@]}" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    "${git[@]}" ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
      if [[ -e $file ]]; then printf '%s\0' "$file"; fi
    done | tar -c --null -T -
  else
    tar -c --exclude=./build --exclude=./ddbg-runs .
  fi
}
folder=$(sed -n 's/^WORKDIR //p' docker/Dockerfile)
mkdir -p "$walk$folder"
tree | tar -x -C "$walk$folder" --no-same-owner

inside() {
  chroot "$walk" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    /bin/sh -c "cd $folder && $1"
}

sed -n 's/^RUN //p' docker/Dockerfile | while IFS= read -r step; do
  echo "== $step"
  inside "$step" </dev/null || {
    echo "bare_debian.sh: this step of docker/Dockerfile failed: $step" >&2
    exit 1
  }
done

echo "== scripts/quickstart.sh"
output=$(inside scripts/quickstart.sh </dev/null) || {
  echo "$output"
  echo "bare_debian.sh: the quick start failed" >&2
  exit 1
}
echo "$output"
for word in MPI_Barrier MPI_COMM_WORLD 'rank 0' b01_extra_barrier.c:; do
  grep -qF "$word" <<<"$output" || {
    echo "bare_debian.sh: the verdict does not say '$word'" >&2
    exit 1
  }
done
