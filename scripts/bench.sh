#!/usr/bin/env bash
# What ddbg costs on this machine, against its goals and its peers: prints Markdown. Installs the peers (LTTng-UST,
# EZTrace) where they are missing, unless --no-peers. --help shows the options.
set -euo pipefail
cd "$(dirname "$0")/.."
case " $* " in
  *" --no-peers "* | *" --help "* | *" -h "*) ;;
  *) scripts/install_deps.sh --openmpi --bench ;;
esac
exec /usr/bin/python3 tests/bench/bench.py "$@"
