#!/usr/bin/env bash
# Installs what ddbg needs, from the packages of Debian 12, Debian 13 or Ubuntu. Does nothing where all is there.
#   install_deps.sh             to build and run
#   install_deps.sh --openmpi   and for an Open MPI job; --mpich the same for MPICH
#   install_deps.sh --test      and for all tests
#   install_deps.sh --bench     and for the peers that bench.sh compares with
set -euo pipefail

build=(g++ cmake ninja-build pkg-config libunwind-dev protobuf-compiler libprotobuf-dev libprotozero-dev libzstd-dev
       libdw-dev libelf-dev libasio-dev libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev)
openmpi=(openmpi-bin libopenmpi-dev)
mpich=(mpich libmpich-dev)
test=(ccache libgloo-dev libgtest-dev libgmock-dev libbenchmark-dev python3 python3-pytest python3-pytest-xdist python3-mpi4py gfortran
      lammps lammps-examples hpcc quantum-espresso quantum-espresso-data netpipe-openmpi netpipe-mpich2 debootstrap dpkg-dev gdb libjemalloc2 libtcmalloc-minimal4 clang
      libclang-rt-dev clang-format clang-tidy)
# For the tests with a 32-bit program, which there is on one architecture only.
if [[ $(dpkg --print-architecture 2>/dev/null) == amd64 ]]; then test+=(libc6-i386); fi
bench=(lttng-tools liblttng-ust-dev eztrace lammps lammps-examples)

die() {
  echo "install_deps.sh: $*" >&2
  exit 1
}

# Prints those of the given packages that are not installed.
missing() {
  local name
  for name; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || echo "$name"
  done
}

packages=("${build[@]}")
for option; do
  case $option in
    --openmpi) packages+=("${openmpi[@]}") ;;
    --mpich) packages+=("${mpich[@]}") ;;
    --test) packages+=("${openmpi[@]}" "${mpich[@]}" "${test[@]}") ;;
    --bench) packages+=("${bench[@]}") ;;
    *) die "unknown option '$option'; there are --openmpi, --mpich, --test and --bench" ;;
  esac
done

command -v apt-get dpkg-query >/dev/null ||
  die "no apt-get here: this script knows Debian and Ubuntu. Install by your own means: ${packages[*]}"
mapfile -t wanted < <(missing "${packages[@]}")
if [[ ${#wanted[@]} == 0 ]]; then
  exit 0
fi

sudo=()
if [[ $(id -u) != 0 ]]; then
  command -v sudo >/dev/null || die "not root and no sudo: as root, run: apt-get install ${wanted[*]}"
  sudo=(sudo)
fi
echo "installing: ${wanted[*]}"
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update ||
  echo "install_deps.sh: apt-get update failed, trying with the package lists that are here" >&2
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends \
  "${wanted[@]}" >/dev/null || die "apt-get could not install: ${wanted[*]}"
