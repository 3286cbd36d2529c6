#!/usr/bin/env bash
# Runs a job for MINUTES (20) with a small budget and watches that neither the memory of its ranks and of the collector
# nor the trace grows. Prints Markdown; ends with 1 if something does. --help shows the options.
set -euo pipefail
cd "$(dirname "$0")/.."
exec /usr/bin/python3 tests/bench/soak.py "$@"
