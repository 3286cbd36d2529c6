// From the times that a process's records tell to the clock of its host. The two agree when recording starts and drift
// apart as the counter's rate was measured a little wrong; the collector looks every ten seconds how far. A process
// that sees another clock than its host has (a preloaded one) is as far off from the start. One thread.
#pragma once

#include <cstdint>
#include <vector>

namespace ddbg::analyzer {

class ClockCorrection {
 public:
  // At an instant at which records told `told_ns` the host's clock was `true_ns`.
  void Add(int64_t told_ns, int64_t true_ns);

  // No more points: at this time both were the same, or as far off as at the first point.
  void Begin(int64_t start_ns);

  // Between two points as far off as these, in proportion; behind the last one as far as there. After Begin.
  int64_t Corrected(int64_t told_ns) const;

 private:
  struct Point {
    int64_t told_ns, ahead_ns;
  };
  std::vector<Point> points_;  // ascending
};

}  // namespace ddbg::analyzer
