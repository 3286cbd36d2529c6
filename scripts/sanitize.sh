#!/usr/bin/env bash
# Builds the ring, the sender and the collector with sanitizers and runs their unit tests: AddressSanitizer with
# UndefinedBehaviorSanitizer, then ThreadSanitizer. JUnit files go to the folder given (build/test-results).
set -euo pipefail
cd "$(dirname "$0")/.."

results=${1:-build/test-results}
mkdir -p "$results"
results=$(realpath "$results")
failed=0
for preset in asan tsan; do
  cmake --preset $preset -Wno-dev >/dev/null
  # ThreadSanitizer's shadow memory knows no address space that is laid out at random over more bits than it was made for.
  setarch -R cmake --build --preset $preset --target proto_tests collector_tests shim_tests
  setarch -R ctest --test-dir build/$preset --output-on-failure --timeout 600 --no-tests=error -E 'NOT_BUILT|layers' \
    -j "$(nproc)" --output-junit "$results/$preset.xml" || failed=1
done
exit $failed
