#include "analyzer/clock_correction.h"

#include <algorithm>

namespace ddbg::analyzer {
namespace {

// More is no drift: a damaged file, or a counter that stood still while the machine slept.
constexpr int64_t kMostAheadNs = 3600'000'000'000;

}  // namespace

void ClockCorrection::Add(int64_t told_ns, int64_t true_ns) {
  int64_t ahead;
  if (__builtin_sub_overflow(told_ns, true_ns, &ahead) || ahead > kMostAheadNs || ahead < -kMostAheadNs) return;
  points_.push_back({told_ns, ahead});
}

void ClockCorrection::Begin(int64_t start_ns) {
  if (points_.empty()) return;
  points_.push_back({start_ns, 0});
  std::stable_sort(points_.begin(), points_.end(),
                   [](const Point& a, const Point& b) { return a.told_ns < b.told_ns; });
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
