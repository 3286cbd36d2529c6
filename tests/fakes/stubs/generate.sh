#!/usr/bin/env bash
# Writes C source with a function for each name of a list, by a pattern, that a library does not define:
#   generate.sh RESULT REGEX LIBRARY|- <NAMES
# Each returns RESULT, and says on stderr that it was called if NULLGPU_STUBS is set.
set -euo pipefail
result=$1 names=$2 library=$3

defined() {
  [[ $1 == - ]] || readelf --dyn-syms -W "$1" | awk '$7 != "UND" {sub(/@.*/, "", $8); print $8}' | sort -u
}

cat <<SOURCE
#include <stdio.h>
#include <stdlib.h>
static int missing(const char* function) {
  if (getenv("NULLGPU_STUBS")) fprintf(stderr, "nullgpu: stub %s called\\n", function);
  return $result;
}
SOURCE
comm -23 <(grep -E "^($names)" | sort -u || true) <(defined "$library") | sed 's/.*/int &(void) { return missing("&"); }/'
