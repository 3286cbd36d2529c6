// Finds steps of the wall clock. Both clocks are slewed alike, so their difference changes by steps only: somebody set
// the clock, or the machine slept, which CLOCK_BOOTTIME tells apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ddbg::collector {

struct ClockReadings {
  int64_t monotonic_ns;  // of the host (host_clock.h)
  int64_t realtime_ns;
  int64_t boottime_ns;
  static ClockReadings Now();
};

struct ClockStepSeen {
  int64_t t_ns;
  int64_t step_ns;
  int64_t suspended_ns;
};

class ClockSteps {
 public:
  // Looks at clocks read now; what was seen since the last time.
  std::optional<ClockStepSeen> Look(const ClockReadings& now);

 private:
  bool started_ = false;
  int64_t realtime_ahead_ns_ = 0, boottime_ahead_ns_ = 0;
};

void AppendClockStep(const ClockStepSeen& step, std::string* chunk);

}  // namespace ddbg::collector
