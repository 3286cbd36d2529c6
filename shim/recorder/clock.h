// The clock of records: the cheapest monotonic counter this machine has, chosen at run time and named in the trace.
// Invariant TSC or cntvct give ticks; else ticks are ns of CLOCK_MONOTONIC. The sender calibrates ticks against
// CLOCK_MONOTONIC and keeps the result in the region's header, where the collector finds it too.
#pragma once

#include <cstdint>

#include "proto/clock_ticks.h"
#include "proto/ring_layout.h"

namespace ddbg::shim {

// The best counter that agrees across cores.
ClockKind ChooseClock();
const char* ClockName(ClockKind kind);

// Ticks and both system clocks at one instant: the tightest of a few tries. Reads /proc.
ClockSample TakeClockSample(ClockKind kind);

// Sets clock_ns_per_tick_bits, once: one instant must be the same number of ns wherever it is told, in a call seen open
// and in its record. False: too little time has passed since the region was made (50 ms).
bool Calibrate(RegionHeader* header);

}  // namespace ddbg::shim
