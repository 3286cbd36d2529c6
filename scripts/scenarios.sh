#!/usr/bin/env bash
# Plays the whole suite of planted faults and healthy runs (tests/scenarios) and prints its scores: five seeds of each
# fault, and with the twins more than 150 healthy runs. Builds first. Options are those of tests/scenarios/run.py.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh --tests
exec /usr/bin/python3 tests/scenarios/run.py --seeds 5 --json build/scenarios.json "$@"
