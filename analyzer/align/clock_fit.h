// One clock against another, from what bounds them. Each bound says that at `own_ns` of the one clock the other showed
// at least, or at most, `other_ns`. Between all of them a line of straight pieces is laid: as long as one straight line
// passes between the bounds it is one piece, and where none does, the clocks' rates changed or one of them was set.
// Where the bounds leave room, instants that both saw at about the same time say where in it (the end of a barrier: its
// bounds may be a whole wait apart). O(n log n) in the number of bounds. Pure functions of numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/align/host_axis.h"

namespace ddbg::analyzer {

struct ClockBound {
  int64_t own_ns = 0, other_ns = 0;
};

// Both clocks read at about one instant, within some `noise_ns`.
struct ClockPair {
  int64_t own_ns = 0, other_ns = 0, noise_ns = 0;
};

struct ClockEvidence {
  std::vector<ClockBound> at_least, at_most;
  std::vector<ClockPair> together;

  bool empty() const { return at_least.empty() && at_most.empty(); }
};

// Somewhere between two instants of its own the one clock lost `lost_ns` against the other, or gained it (negative).
struct ClockJump {
  int64_t after_ns = 0, before_ns = 0;
  int64_t lost_ns = 0, error_ns = 0;
};

struct ClockFit {
  HostAxis axis{0, kUnknownError};   // from the one clock to the other
  std::vector<ClockJump> jumps;      // that are larger than the bounds leave room for
  int64_t error_ns = kUnknownError;  // on the whole: the median along the line
};

ClockFit FitClock(ClockEvidence evidence);

// Leaves what decides: of each bound the tightest ones along the time, of pairs the least noisy. For evidence that has
// grown large.
void Thin(ClockEvidence* evidence);

}  // namespace ddbg::analyzer
