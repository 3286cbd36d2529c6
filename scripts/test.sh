#!/usr/bin/env bash
# Builds and runs all tests; --quick: unit tests and a few end-to-end ones, no sanitizers, no fuzzers. The last line is
# "N passed, N failed", with ", N skipped" if any were.
set -euo pipefail
cd "$(dirname "$0")/.."

tier=all
case ${1:-} in
  '') ;;
  --quick) tier=quick ;;
  *)
    echo "test.sh: unknown option '$1'; there is --quick" >&2
    exit 2
    ;;
esac

scripts/install_deps.sh --test
scripts/build.sh --tests

results=build/test-results
rm -rf "$results"
mkdir -p "$results"
failed=0
ctest --test-dir build/release --output-on-failure --timeout 300 --no-tests=error -j "$(nproc)" \
  --output-junit "$PWD/$results/unit.xml" || failed=1

# The distribution's Python, since its pytest and mpi4py belong to it; another may come first in PATH.
# Most tests wait for jobs: two go side by side, but for those that are judged by times.
quick=
[[ $tier == quick ]] && quick='quick and '
/usr/bin/python3 -m pytest tests/e2e -n 2 --durations 15 -m "${quick}not alone" --junit-xml "$results/e2e.xml" || failed=1
/usr/bin/python3 -m pytest tests/e2e --durations 15 -m "${quick}alone" --junit-xml "$results/alone.xml" || failed=1

parts=(unit e2e alone)
if [[ $tier == all ]]; then
  parts+=(asan tsan fuzz)
  scripts/sanitize.sh "$results" || failed=1
  scripts/fuzz.sh 15 || failed=1
fi

cd "$results"
/usr/bin/python3 ../../scripts/sum_results.py "${parts[@]/%/.xml}" || failed=1
exit $failed
