// Waiting for something another process does, with a deadline in place of a sleep.
#pragma once

#include <unistd.h>

#include "proto/clock_ticks.h"

namespace ddbg {

// True as soon as `condition()` is; false if it is not within `seconds`.
template <class Condition>
bool WaitUntil(Condition condition, double seconds = 20) {
  int64_t deadline = MonotonicNs() + static_cast<int64_t>(seconds * 1e9);
  while (!condition()) {
    if (MonotonicNs() > deadline) return false;
    usleep(2000);
  }
  return true;
}

}  // namespace ddbg
