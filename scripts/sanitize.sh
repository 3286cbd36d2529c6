#!/usr/bin/env bash
# Builds the ring, the sender and the collector with sanitizers and runs their unit tests: AddressSanitizer with
# UndefinedBehaviorSanitizer, then ThreadSanitizer. JUnit files go to the folder given (build/test-results).
set -euo pipefail
cd "$(dirname "$0")/.."

results=${1:-build/test-results}
mkdir -p "$results"
results=$(realpath "$results")

# ThreadSanitizer's shadow memory knows no address space laid out over more random bits than it was made for; where the
# layout cannot be fixed, as in some containers, the kernel's bits may do.
fixed=()
setarch -R true 2>/dev/null && fixed=(setarch -R)

# Clang compiles in half the time, and the build of the fuzzers has the same sanitizers as asan: it serves both.
declare -A preset_of=([asan]=asan [tsan]=tsan)
if echo 'int main() {}' | clang++ -fsanitize=address,fuzzer-no-link -x c++ - -o /dev/null 2>/dev/null; then
  export CC=clang CXX=clang++
  preset_of[asan]=fuzz
fi

# A test forks while it has threads, and its child starts another. What ThreadSanitizer fears there, a lock of its own
# that the fork left taken, would show as a hang.
export TSAN_OPTIONS=die_after_fork=0

failed=0
for sanitizer in asan tsan; do
  preset=${preset_of[$sanitizer]}
  cmake --preset $preset -Wno-dev >/dev/null
  "${fixed[@]}" cmake --build --preset $preset --target proto_tests collector_tests shim_tests ring_tests
  "${fixed[@]}" ctest --test-dir build/$preset --output-on-failure --timeout 600 --no-tests=error \
    -E 'NOT_BUILT|layers|^Fuzz|^Synthetic' -j "$(nproc)" --output-junit "$results/$sanitizer.xml" || failed=1
done
exit $failed
