#!/usr/bin/env bash
# fuzz.sh [SECONDS [NAME...]]: builds the fuzzers (tests/fuzz) and runs each, or those named, for SECONDS (20), from its
# kept inputs. Fails if one finds a crash, a hang or too much memory, and prints where the input lies. JUnit:
# build/test-results/fuzz.xml. Needs clang with libFuzzer; skips without.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-20}
[[ $seconds =~ ^[0-9]+$ ]] || { echo "fuzz.sh: '$seconds' is no number of seconds" >&2; exit 2; }
names=("${@:2}")
[[ ${#names[@]} != 0 ]] || mapfile -t names < <(cd tests/fuzz && ls -- *_fuzz.cc | sed 's/_fuzz\.cc$//')

results=$PWD/build/test-results
found=$PWD/build/fuzz-findings
mkdir -p "$results" "$found"
rm -f "$results/fuzz.xml"
cases=()

write_junit() {
  printf '<testsuite name="fuzz">\n%s</testsuite>\n' "$(printf '%s\n' "${cases[@]}")" >"$results/fuzz.xml"
}

if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    clang++ -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null; then
  echo "fuzz.sh: the fuzzers are skipped, since there is no clang++ with libFuzzer here (install_deps.sh --test)"
  for name in "${names[@]}"; do cases+=("<testcase classname=\"fuzz\" name=\"$name\"><skipped/></testcase>"); done
  write_junit
  exit 0
fi

cmake --preset fuzz -Wno-dev >/dev/null
cmake --build --preset fuzz --target "${names[@]/%/_fuzz}"

# In memory where there is such a folder: one of them writes files.
scratch=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs one for its time; what it says goes to its log, and its exit status beside.
run() {
  local name=$1 status=0
  mkdir -p "$scratch/$name"
  TMPDIR=$scratch build/fuzz/tests/"${name}_fuzz" "$scratch/$name" "tests/fuzz/corpus/$name" \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$found/$name-" >"$scratch/$name.log" 2>&1 || status=$?
  echo $status >"$scratch/$name.status"
}

for name in "${names[@]}"; do
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
  run "$name" &
done
wait

failed=0
for name in "${names[@]}"; do
  log=$scratch/$name.log
  if [[ $(<"$scratch/$name.status") == 0 ]]; then
    echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
    cases+=("<testcase classname=\"fuzz\" name=\"$name\" time=\"$seconds\"/>")
  else
    failed=1
    tail -n 60 "$log"
    echo "fuzz $name: FAILED; $(grep -a 'Test unit written to' "$log" || echo 'it left no input')"
    cases+=("<testcase classname=\"fuzz\" name=\"$name\" time=\"$seconds\"><failure message=\"see $found\"/></testcase>")
  fi
done
write_junit
exit $failed
