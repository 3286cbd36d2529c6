// How long the calls of each call site took in a run, over all ranks, without keeping the times: for comparing two
// runs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/align/timeline.h"
#include "analyzer/match/match.h"
#include "analyzer/model/model.h"
#include "analyzer/report/call_lanes.h"
#include "analyzer/report/run_diff.h"
#include "analyzer/stacks/stack_view.h"

namespace ddbg::analyzer {

// Lengths of time in classes, sixteen a power of two: quantiles are within 4 %, the sum is exact.
class TimeHistogram {
 public:
  void Add(int64_t ns);
  Spread Summary() const;

 private:
  int64_t Quantile(double part) const;

  std::array<uint32_t, 64 * 16> counts_{};
  uint64_t calls_ = 0;
  int64_t total_ns_ = 0;
};

class SiteTimes {
 public:
  enum Measure { kDuration, kWaiting, kOwnTime };
  static constexpr size_t kMeasures = 3;

  struct Site {
    std::string call, comm, line;
    std::map<Measure, TimeHistogram> times;
  };

  explicit SiteTimes(const Run& run);

  // The calls of one process that are compared, with `lanes` made of it.
  void Add(size_t process, CallLanes* lanes, StackViews* views);

  // By call, communicator's name and call site.
  const std::map<uint64_t, Site>& sites() const { return sites_; }
  // Of all ranks together.
  int64_t total_ns() const { return total_ns_; }

 private:
  int64_t LastEntry(size_t group, uint64_t seq);

  const Run& run_;
  Timeline timeline_;
  Matching matching_;
  std::vector<std::vector<int64_t>> last_entry_;  // by group, by seq; 0: not known yet
  std::map<uint64_t, Site> sites_;
  int64_t total_ns_ = 0;
};

// Sites where the bad run's calls take clearly longer, those that cost most first.
std::vector<SlowerSite> FindSlower(const SiteTimes& good, const SiteTimes& bad);

}  // namespace ddbg::analyzer
