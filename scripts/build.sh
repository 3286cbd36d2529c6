#!/usr/bin/env bash
# Builds the release preset and installs it into build/install/{bin,lib}.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release -Wno-dev >/dev/null
cmake --build --preset release
cmake --install build/release >/dev/null
