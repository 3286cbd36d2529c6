#!/usr/bin/env bash
# Tries ddbg on a machine with a GPU: runtime, driver and plugin level, graphs, cuBLAS and NCCL under PyTorch, torch.profiler beside it,
# times of the device, and what a launch costs. Prints a table and leaves the traces in a folder. Under five minutes; no network.
#   gpu_check.sh [--out DIR]        builds ddbg here and checks (./gpu-check)
#   gpu_check.sh --prefix DIR       checks with a ddbg that is installed there, or was packed
#   gpu_check.sh --pack DIR         on any machine: builds ddbg and puts it, with the libraries it needs, into DIR to carry over
#   gpu_check.sh --double DIR       with test doubles of CUDA and NCCL (build/*/tests/fakes) in place of a GPU
#   gpu_check.sh --dry-run          does all but start what needs a GPU
# Needs: bash, python3, nvcc (else the parts in CUDA are left out), PyTorch with NCCL for $PYTHON (python3; else those parts are). To
# build also what scripts/install_deps.sh installs. Ends with 0: nothing failed; 1: something did; 2: it could not be tried.
set -uo pipefail
here=$PWD
cd "$(dirname "$0")/.." || exit 2
root=$PWD
out=$here/gpu-check prefix='' double='' pack='' dry=''
PYTHON=${PYTHON:-python3}
most_seconds=280

die() {
  echo "gpu_check.sh: $*" >&2
  exit 2
}

while (($#)); do
  case $1 in
    --out | --prefix | --double | --pack)
      (($# > 1)) || die "$1 needs a folder"
      folder=$(cd "$here" && mkdir -p "$2" && realpath "$2") || die "cannot make $2"
      printf -v "${1#--}" '%s' "$folder"
      shift 2
      ;;
    --dry-run) dry=1 && shift ;;
    -h | --help)
      sed -n '2,/^set /{/^#/s/^# \?//p}' "scripts/gpu_check.sh"
      exit 0
      ;;
    *) die "unknown option '$1' (--help)" ;;
  esac
done

# --- ddbg itself

# What is missing to build, one a line.
missing_to_build() {
  local tool header
  for tool in g++ cmake ninja protoc pkg-config; do command -v $tool >/dev/null || echo "$tool"; done
  command -v g++ >/dev/null || return
  for header in google/protobuf/message.h protozero/pbf_writer.hpp zstd.h elfutils/libdwfl.h asio.hpp CLI/CLI.hpp fmt/format.h \
    spdlog/spdlog.h nlohmann/json.hpp; do
    g++ -std=c++20 -E -x c++ -include "$header" /dev/null >/dev/null 2>&1 || echo "$header"
  done
}

build_into() {
  local missing
  mapfile -t missing < <(missing_to_build)
  if ((${#missing[@]})); then
    die "cannot build ddbg here, these are missing: ${missing[*]}. Install them (scripts/install_deps.sh), or pack ddbg on a machine" \
      "that has them (gpu_check.sh --pack DIR) and give that folder as --prefix"
  fi
  echo "building ddbg …"
  if ! {
    cmake --preset release -Wno-dev -DDDBG_TESTS=OFF -B "$1.build" &&
      cmake --build "$1.build" --target ddbg ddbg-collector ddbg_command && cmake --install "$1.build" --prefix "$1"
  } >"$1.log" 2>&1; then
    die "the build failed: $(tail -3 "$1.log"); all of it is in $1.log"
  fi
}

# The programs find their libraries by a wrapper: RPATHs would need patchelf.
pack_into() {
  local program library
  build_into "$1"
  mkdir -p "$1/lib/private"
  for program in ddbg ddbg-collector; do
    ldd "$1/bin/$program" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|libpthread|librt)\.so|^ld-/ {print $3}' |
      while read -r library; do cp -L "$library" "$1/lib/private/"; done
    mv "$1/bin/$program" "$1/lib/private/$program"
    strip "$1/lib/private/$program"
    cat >"$1/bin/$program" <<'WRAPPER'
#!/bin/sh
private=$(dirname "$(readlink -f "$0")")/../lib/private
LD_LIBRARY_PATH=$private${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$private/$(basename "$0")" "$@"
WRAPPER
    chmod +x "$1/bin/$program"
  done
  rm -rf "$1.build" "$1.log"
  du -sh "$1"
}

if [[ $pack ]]; then
  pack_into "$pack"
  exit 0
fi
command -v python3 >/dev/null || die "python3 is missing"
rm -rf "${out:?}/traces" "$out/logs" "$out/programs"
mkdir -p "$out/traces" "$out/logs" "$out/programs" || die "cannot write to $out"
if [[ ! $prefix ]]; then
  prefix=$out/ddbg
  build_into "$prefix"
fi
for part in bin/ddbg bin/ddbg-collector lib/libddbg.so; do
  [[ -e $prefix/$part ]] || die "$prefix/$part is missing"
done
"$prefix/bin/ddbg" --help >"$out/logs/ddbg" 2>&1 || die "ddbg does not run here: $(tail -1 "$out/logs/ddbg")"

# --- the table

rows=() failures=0
row() { # NAME pass|FAIL|skip REASON
  rows+=("$(printf '%-26s %-5s %s' "$1" "$2" "${3:0:160}")")
  [[ $2 != FAIL ]] || failures=$((failures + 1))
  echo "${rows[-1]}"
}

# --- running something

[[ ! $double ]] || export GPU_CHECK_DOUBLE=1 LD_LIBRARY_PATH="$double${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
short=$(mktemp -d) || die "no temporary folder"
socket=$short/s
"$prefix/bin/ddbg-collector" --foreground --socket "$socket" --idle-seconds 600 >"$out/logs/collector" 2>&1 &
collector=$!
trap 'kill $collector 2>/dev/null; wait $collector 2>/dev/null; rm -rf "$short"' EXIT

# traced NAME [VARIABLE=VALUE…] -- COMMAND…: under ddbg, into the run NAME. Its output is in logs/NAME.
traced() {
  local name=$1 switches=() code
  shift
  while [[ $1 != -- ]]; do switches+=("$1") && shift; done
  shift
  env DDBG_DIR="$out/traces" DDBG_RUN_ID="$name" DDBG_SOCKET="$socket" DDBG_COLLECTOR="$prefix/bin/ddbg-collector" \
    LD_PRELOAD="$prefix/lib/libddbg.so" "${switches[@]}" timeout -k 5 60 "$@" >"$out/logs/$name" 2>&1
  code=$?
  sleep 0.8 # until the collector has written the end
  return $code
}

untraced() { # NAME COMMAND…
  local name=$1
  shift
  timeout -k 5 60 "$@" >"$out/logs/$name" 2>&1
}

last_line() { grep -v '^$' "$out/logs/$1" 2>/dev/null | tail -1; }

# A reason to leave a part out: prints it. $1: what it needs (cuda, torch).
reason_to_skip() {
  if ((SECONDS > most_seconds)); then
    echo "no time left"
  elif [[ $dry ]]; then
    echo "dry run"
  elif [[ ! $double && ! $gpu ]]; then
    echo "no GPU"
  elif [[ $1 == cuda && ! $nvcc ]]; then
    echo "no nvcc"
  elif [[ $1 == torch && ! $torch ]]; then
    echo "no PyTorch with CUDA for $PYTHON"
  fi
}

# part NAME NEEDS SWITCHES… -- COMMAND… :: LOOK…[ :: LOOK…]: runs it alone and traced, compares, and asks look.py.
part() {
  local name=$1 why command=() switches=() look=() text='' code=0 said
  why=$(reason_to_skip "$2")
  if [[ $why ]]; then
    row "$name" skip "$why"
    return
  fi
  shift 2
  while [[ $1 != -- ]]; do switches+=("$1") && shift; done
  shift
  while (($#)) && [[ $1 != :: ]]; do command+=("$1") && shift; done
  if [[ ! -x ${command[0]} ]] && ! command -v "${command[0]}" >/dev/null; then
    row "$name" FAIL "${command[0]##*/} was not built: $(last_line "nvcc-${command[0]##*/}")"
    return
  fi
  if ! untraced "$name.alone" "${command[@]}"; then
    row "$name" skip "it does not run without ddbg either: $(last_line "$name.alone")"
    return
  fi
  if ! traced "$name" "${switches[@]}" -- "${command[@]}"; then
    row "$name" FAIL "it fails under ddbg: $(last_line "$name")"
    return
  fi
  while (($#)); do
    shift
    look=()
    while (($#)) && [[ $1 != :: ]]; do look+=("$1") && shift; done
    said=$(python3 tests/gpu/look.py "$prefix/bin/ddbg" "$out/traces/$name" "${look[@]}" 2>"$out/logs/$name.look")
    case $? in
      0) ;;
      77) said="not told: $said" ;;
      *) code=1 && said="WRONG: ${said:-$(last_line "$name.look")}" ;;
    esac
    text+=${text:+; }$said
  done
  if ((code)); then row "$name" FAIL "$text"; else row "$name" pass "$text"; fi
}

# --- what there is

gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
torch=''
if [[ ! $dry ]]; then
  torch=$("$PYTHON" -c 'import torch; assert torch.cuda.is_available(); print(torch.__version__, torch.version.cuda)' 2>/dev/null)
fi
row "GPU" "$([[ $gpu || $double ]] && echo pass || echo skip)" "$([[ $double ]] && echo "a double, $double" || echo "${gpu:-none: nvidia-smi does not say one}")"
row "nvcc" "$([[ $nvcc ]] && echo pass || echo skip)" "$([[ $nvcc ]] && "$nvcc" --version | grep -o 'V[0-9][0-9.]*' || echo 'not found')"
row "PyTorch" "$([[ $torch ]] && echo pass || echo skip)" "${torch:-not found, or without CUDA}"

compile() { # NAME SOURCE CUDART
  [[ $nvcc ]] && "$nvcc" -std=c++17 -O1 --cudart "$3" -o "$out/programs/$1" "tests/gpu/$2" >"$out/logs/nvcc-$1" 2>&1
}
for program in vector_add graph kernel_times launch_cost; do
  compile $program $program.cu shared &
  [[ $program != vector_add ]] || compile vector_add_static vector_add.cu static &
done
for job in $(jobs -p); do [[ $job == "$collector" ]] || wait "$job"; done
programs=$out/programs
launches='cudaLaunchKernel|__cudaLaunchKernel|cudaLaunchKernelExC'
driver_launches='cuLaunchKernel|cuLaunchKernelEx'

# --- the parts

part runtime cuda -- "$programs/vector_add" 20 \
  :: calls "$launches=20" cudaMemcpyAsync=2 cudaStreamSynchronize=1 cudaMalloc=1 :: level "CUDA runtime" on :: verdict
part static-runtime cuda -- "$programs/vector_add_static" 20 :: unseen "CUDA driver"
part driver cuda DDBG_CUDA_DRIVER=1 -- "$programs/vector_add_static" 20 \
  :: calls "$driver_launches=20" :: level "CUDA driver" on :: verdict
part driver-and-runtime cuda DDBG_CUDA_DRIVER=1 -- "$programs/vector_add" 20 :: calls "$launches=20"
part graph cuda -- "$programs/graph" 3 7 :: calls "$launches=3" cudaGraphLaunch=7 cudaStreamBeginCapture=1 :: verdict
part kernel-times cuda DDBG_GPU_COMPLETION=1 DDBG_KERNEL_TIMING=1/1 -- "$programs/kernel_times" 8 \
  :: times "$out/logs/kernel-times" 0.05 50000 :: level "kernel timing" on
part cublas torch DDBG_CUDA_DRIVER=1 -- "$PYTHON" "$root/tests/gpu/matmul.py" 10 \
  :: calls "$launches|$driver_launches=10+" :: verdict
part nccl torch -- "$PYTHON" -m torch.distributed.run --nproc-per-node 1 "$root/tests/gpu/one_rank.py" 10 \
  :: calls ncclAllReduce=10+ :: level NCCL on :: verdict
part nccl-plugin torch DDBG_NCCL_PLUGIN=times -- "$PYTHON" -m torch.distributed.run --nproc-per-node 1 "$root/tests/gpu/one_rank.py" 10 \
  :: calls ncclAllReduce=10+ :: level "NCCL plugin" on :: verdict
part nccl-times torch DDBG_GPU_COMPLETION=1 -- "$PYTHON" -m torch.distributed.run --nproc-per-node 1 "$root/tests/gpu/one_rank.py" 10 \
  :: calls ncclAllReduce=10+ :: level "GPU completion" on :: verdict

# CUPTI works for others while ddbg is there.
profiler() {
  local why alone beside
  why=$(reason_to_skip torch)
  [[ ! $why ]] || { row torch-profiler skip "$why" && return; }
  if ! untraced profiler.alone "$PYTHON" "$root/tests/gpu/profiled.py"; then
    row torch-profiler skip "it does not run without ddbg either: $(last_line profiler.alone)"
    return
  fi
  if ! traced torch-profiler DDBG_CUDA_DRIVER=1 -- "$PYTHON" "$root/tests/gpu/profiled.py"; then
    row torch-profiler FAIL "it fails under ddbg: $(last_line torch-profiler)"
    return
  fi
  alone=$(last_line profiler.alone) beside=$(last_line torch-profiler)
  if [[ $alone == "$beside" ]]; then
    row torch-profiler pass "$beside, as without ddbg"
  else
    row torch-profiler FAIL "$beside, without ddbg $alone"
  fi
}
profiler

# Off and on in turn, so that what else the machine does hits both. A launch takes some 2 us on a GPU; of a double's nothing follows.
overhead() {
  local name=$1 why round off=() on=()
  shift
  why=$(reason_to_skip cuda)
  [[ ! $why ]] || { row "$name" skip "$why" && return; }
  for round in 1 2 3 4 5; do
    if ! untraced "$name.off.$round" "$programs/launch_cost" || ! traced "$name.on.$round" "$@" -- "$programs/launch_cost"; then
      row "$name" FAIL "launch_cost does not run: $(last_line "$name.off.$round") $(last_line "$name.on.$round")"
      return
    fi
    off+=("$(sed -n 's/^ns //p' "$out/logs/$name.off.$round")") on+=("$(sed -n 's/^ns //p' "$out/logs/$name.on.$round")")
  done
  if python3 - "${off[*]}" "${on[*]}" >"$out/logs/$name" <<'PYTHON'; then
import os, statistics, sys
off, on = (statistics.median(map(float, text.split())) for text in sys.argv[1:3])
print("a launch takes %.0f ns, %.0f under ddbg: %.2f times" % (off, on, on / off))
sys.exit(0 if on < 1.5 * off or "GPU_CHECK_DOUBLE" in os.environ else 1)
PYTHON
    row "$name" pass "$(last_line "$name")"
  else
    row "$name" FAIL "$(last_line "$name")"
  fi
}
overhead launch-cost
overhead launch-cost-no-stacks DDBG_STACKS=off

# --- the end

{
  printf '\n%-26s %-5s %s\n' "what" "" "why"
  printf '%s\n' "${rows[@]}"
  printf '%s failed; %d s; traces and logs are in %s\n' "$failures" "$SECONDS" "$out"
} | tee "$out/table.txt"
exit $((failures > 0))
