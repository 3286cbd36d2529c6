// The clock of one host laid on the axis of the run: a line of straight pieces, which never goes back.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace ddbg::analyzer {

// Nobody can say.
inline constexpr int64_t kUnknownError = INT64_MAX;

class HostAxis {
 public:
  // At `own_ns` of the host's CLOCK_MONOTONIC the axis is at `axis_ns`, right to within `error_ns`.
  struct Knot {
    int64_t own_ns = 0, axis_ns = 0, error_ns = 0;
  };

  // Shifted only.
  HostAxis(int64_t shift_ns, int64_t error_ns) : knots_{{0, shift_ns, error_ns}} {}
  // How the clock runs on outside of all knots: ns of the axis a ns of its own, less one, and how far off that may be.
  struct Rate {
    double rate = 0, doubt = 0;
  };
  // Through knots, ascending in both times, at least one.
  HostAxis(std::vector<Knot> knots, Rate before, Rate behind);

  // Both saturate: what is at an end of int64 stays there. `Back` gives the earliest time that is at `axis_ns` or
  // later.
  int64_t At(int64_t own_ns) const;
  int64_t Back(int64_t axis_ns) const;
  // Between knots the larger of their errors; outside of them it grows.
  int64_t ErrorNs(int64_t own_ns) const;
  // How much faster the axis goes than this clock, on the whole: −20e-6 where it is 20 ppm fast.
  double rate() const;

  const std::vector<Knot>& knots() const { return knots_; }
  Rate before() const { return before_; }
  Rate behind() const { return behind_; }
  void Shift(int64_t axis_ns);

 private:
  // Of the last knot at or before `own_ns`; the first, if none is.
  size_t PieceOf(int64_t own_ns) const;

  std::vector<Knot> knots_;
  std::vector<double> rates_{0.0};  // behind each knot
  Rate before_, behind_;
};

}  // namespace ddbg::analyzer
