#!/usr/bin/env bash
# Builds the doubles for the PyTorch in a directory made by scripts/torch_directory.sh, and puts them there:
#   install.sh DIR
# Prints where they are, as seen from inside: /opt/ddbg-fakes/HASH, with the hash of the sources, so that it is done once for
# each state of them (about 60 s). cuBLAS, cuDNN and the others get stubs of the functions that this PyTorch imports.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=${1:?"usage: install.sh DIR"}
libraries=$root/usr/lib/x86_64-linux-gnu
clients=("$libraries"/libtorch_cuda.so.2.6 "$libraries"/libtorch_python.so.2.6 "$libraries"/libc10_cuda.so.2.6
  "$libraries"/libtorch_cuda_linalg.so.2.6 "$libraries"/libcaffe2_nvrtc.so.2.6 "$root"/usr/lib/libgloo_cuda.so.0)

sources() {
  (cd "$here" && find CMakeLists.txt install.sh core cudart cuda nccl stubs -type f | LC_ALL=C sort | xargs cat)
}
place=/opt/ddbg-fakes/$(sources | sha256sum | cut -c 1-12)

# A library with the given functions and a stub for every other one that the clients import.
#   stub_library SONAME REGEX RESULT [SOURCE]
stub_library() {
  local soname=$1 names=$2 result=$3 source=${4:-} have=-
  local flags=(-O1 -fPIC -shared -w)
  if [[ -n $source ]]; then
    g++ "${flags[@]}" -o "$work/have.so" "$source"
    have=$work/have.so
  fi
  "$here/stubs/generate.sh" "$result" "$names" "$have" <"$work/imports" >"$work/stubs.c"
  echo "$soname { global: *; };" >"$work/map"
  gcc -O1 -fPIC -w -c -o "$work/stubs.o" "$work/stubs.c"
  g++ "${flags[@]}" -Wl,--version-script="$work/map" -Wl,-soname,"$soname" -o "$made/$soname" ${source:+"$source"} "$work/stubs.o"
}

exec 8>"$root.fakes.lock"
flock 8
if [[ ! -e $root$place ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  made=$work/made
  mkdir "$made"
  cmake -S "$here" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 >/dev/null
  cmake --build "$work/build" --target nullgpu_core nullgpu_cudart12 nullgpu_cuda nullnccl -j "$(nproc)" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
  cp "$work"/build/lib{nullgpu_core.so,cudart.so.12,nccl.so.2,cuda.so.1} "$made"
  readelf --dyn-syms -W "${clients[@]}" | awk '$7 == "UND" {sub(/@.*/, "", $8); print $8}' | sort -u >"$work/imports"
  stub_library libcublas.so.12 'cublas[A-KM-Z]' 0 "$here/stubs/cublas.cc"
  stub_library libcublasLt.so.12 'cublasLt' 0 "$here/stubs/cublas.cc"
  stub_library libcudnn.so.9 'cudnn' 1 "$here/stubs/cudnn.cc"
  stub_library libcusparse.so.12 'cusparse' 1
  stub_library libcufft.so.11 'cufft' 1
  stub_library libcurand.so.10 'curand' 1
  stub_library libcusolver.so.11 'cusolver' 1
  stub_library libnvrtc.so.12 'nvrtc' 1
  stub_library libnvToolsExt.so.1 'nvtx' 0 "$here/stubs/nvtx.cc"
  mkdir -p "$root/opt/ddbg-fakes"
  rm -rf "$root$place.new"
  cp -r "$made" "$root$place.new"
  mv "$root$place.new" "$root$place"
fi
echo "$place"
