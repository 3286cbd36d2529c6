#include "analyzer/load/clock_correction.h"

#include <algorithm>
#include <cstdlib>

namespace ddbg::analyzer {
namespace {

// More is no drift: a damaged file, or a counter that stood still while the machine slept.
constexpr int64_t kMostAheadNs = 3600'000'000'000;
// What is further off than this soon after the start did not drift there: the process sees another clock than its host
// has (a preloaded one).
constexpr int64_t kOtherClockNs = 1'000'000;
constexpr int64_t kMostDriftPerNs = 1000;  // one in so many

}  // namespace

void ClockCorrection::Add(int64_t told_ns, int64_t true_ns) {
  int64_t ahead;
  if (__builtin_sub_overflow(told_ns, true_ns, &ahead) || ahead > kMostAheadNs || ahead < -kMostAheadNs) return;
  points_.push_back({told_ns, ahead});
}

void ClockCorrection::Begin(int64_t start_ns) {
  if (points_.empty()) return;
  std::stable_sort(points_.begin(), points_.end(),
                   [](const Point& a, const Point& b) { return a.told_ns < b.told_ns; });
  const Point& first = points_.front();
  int64_t since_ns = std::max<int64_t>(0, first.told_ns - start_ns);
  bool drifted = std::abs(first.ahead_ns) <= kOtherClockNs + since_ns / kMostDriftPerNs;
  Point start{start_ns, drifted ? 0 : first.ahead_ns};
  points_.insert(std::upper_bound(points_.begin(), points_.end(), start,
                                  [](const Point& a, const Point& b) { return a.told_ns < b.told_ns; }),
                 start);
}

int64_t ClockCorrection::Corrected(int64_t told_ns) const {
  if (points_.empty()) return told_ns;
  auto after = std::upper_bound(points_.begin(), points_.end(), told_ns,
                                [](int64_t t, const Point& point) { return t < point.told_ns; });
  double ahead;
  if (after == points_.begin() || after == points_.end()) {
    ahead = static_cast<double>((after == points_.end() ? points_.back() : points_.front()).ahead_ns);
  } else {
    const Point& left = after[-1];
    double part = (static_cast<double>(told_ns) - static_cast<double>(left.told_ns)) /
                  (static_cast<double>(after->told_ns) - static_cast<double>(left.told_ns));
    ahead = static_cast<double>(left.ahead_ns) + part * static_cast<double>(after->ahead_ns - left.ahead_ns);
  }
  int64_t corrected;
  return __builtin_sub_overflow(told_ns, static_cast<int64_t>(ahead), &corrected) ? told_ns : corrected;
}

}  // namespace ddbg::analyzer
