#!/usr/bin/env bash
# Builds the release preset and installs it into build/install/{bin,lib}; with --tests also builds what the tests need.
set -euo pipefail
cd "$(dirname "$0")/.."

tests=OFF
case ${1:-} in
  '') ;;
  --tests) tests=ON ;;
  *)
    echo "build.sh: unknown option '$1'; there is --tests" >&2
    exit 2
    ;;
esac

cmake --preset release -Wno-dev -DDDBG_TESTS=$tests >/dev/null
cmake --build --preset release
cmake --install build/release >/dev/null
