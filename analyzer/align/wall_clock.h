// CLOCK_REALTIME of hosts and processes: what programs take for the time of day, and files and logs for theirs. Nothing
// here orders events; wall clocks are wrong against each other and are set while a job runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/align/timeline.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// The wall clock of a host went ahead of its monotonic one by `by_ns` (back, if negative) somewhere between these times
// on the axis: it was set, or the machine slept, which the monotonic clock does not count.
struct WallStep {
  size_t host = 0;
  int64_t after_ns = 0, before_ns = 0;
  int64_t by_ns = 0;
  int64_t slept_ns = 0;  // of it; 0 also where nobody looked

  bool IsSleep() const { return 2 * slept_ns >= std::abs(by_ns); }
};

class WallClocks {
 public:
  WallClocks(const Run& run, const Timeline& timeline);

  // Of at least a tenth of a second, by host and time, each once: as the collectors' telemetry saw them, to the second;
  // where there was none, between two of the readings that they write down with the calls.
  const std::vector<WallStep>& steps() const { return steps_; }
  // How far a host's was ahead of the first one's at the beginning; nullopt if one of them is not known.
  std::optional<int64_t> AheadNs(size_t host) const;
  // How far the wall clock that a process sees was ahead of its host's when recording began (a preloaded clock); 0 if
  // nobody saw another.
  int64_t OwnAheadNs(size_t process) const { return own_ahead_[process]; }

 private:
  std::vector<std::optional<int64_t>> at_begin_;  // by host: CLOCK_REALTIME at the axis' 0
  std::vector<int64_t> own_ahead_;                // by process
  std::vector<WallStep> steps_;
};

// A host's clocks for people and programs.
struct ClockSummary {
  std::string host, boot_id;
  std::vector<int32_t> ranks;
  int64_t start_ns = 0;      // its CLOCK_MONOTONIC at the axis' 0
  int64_t end_ns = 0;        // and at the end of the run
  double drift_ppm = 0;      // how much faster it goes than the first host's
  int64_t error_ns = 0;      // of its times on the axis, the worst of beginning, middle and end; kUnknownError
  std::string_view tied_by;  // "reference", "causality", "wall_clock"
  std::optional<int64_t> wall_ahead_ns;
};
std::vector<ClockSummary> ClocksOf(const Run& run, const Timeline& timeline, const WallClocks& walls);

}  // namespace ddbg::analyzer
