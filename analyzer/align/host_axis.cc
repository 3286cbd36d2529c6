#include "analyzer/align/host_axis.h"

#include <algorithm>

namespace ddbg::analyzer {
namespace {

constexpr int64_t kEnd = INT64_MAX / 2;  // times beyond are damage, or stand for "never"

bool IsOutside(int64_t t_ns) { return t_ns > kEnd || t_ns < -kEnd; }

int64_t Saturated(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? INT64_MAX : INT64_MIN;
}

int64_t Along(int64_t axis_ns, int64_t past_ns, double rate) {
  return Saturated(axis_ns, past_ns + static_cast<int64_t>(std::floor(static_cast<double>(past_ns) * rate)));
}

}  // namespace

HostAxis::HostAxis(std::vector<Knot> knots, Rate before, Rate behind)
    : knots_(std::move(knots)), before_(before), behind_(behind) {
  rates_.clear();
  for (size_t i = 1; i < knots_.size(); ++i) {
    double own = static_cast<double>(knots_[i].own_ns - knots_[i - 1].own_ns);
    double axis = static_cast<double>(knots_[i].axis_ns - knots_[i - 1].axis_ns);
    rates_.push_back(own > 0 ? axis / own - 1.0 : 0.0);
  }
  rates_.push_back(behind.rate);
}

size_t HostAxis::PieceOf(int64_t own_ns) const {
  if (knots_.size() == 1) return 0;
  auto behind = std::upper_bound(knots_.begin(), knots_.end(), own_ns,
                                 [](int64_t t_ns, const Knot& knot) { return t_ns < knot.own_ns; });
  return behind == knots_.begin() ? 0 : static_cast<size_t>(behind - knots_.begin()) - 1;
}

int64_t HostAxis::At(int64_t own_ns) const {
  if (IsOutside(own_ns)) return own_ns;
  size_t piece = PieceOf(own_ns);
  const Knot& knot = knots_[piece];
  int64_t past = own_ns - knot.own_ns;
  double rate = past < 0 ? before_.rate : rates_[piece];
  int64_t axis = rate == 0 ? Saturated(knot.axis_ns, past) : Along(knot.axis_ns, past, rate);
  return piece + 1 < knots_.size() ? std::min(axis, knots_[piece + 1].axis_ns) : axis;
}

int64_t HostAxis::Back(int64_t axis_ns) const {
  if (IsOutside(axis_ns)) return axis_ns;
  auto behind = std::lower_bound(knots_.begin(), knots_.end(), axis_ns,
                                 [](const Knot& knot, int64_t t_ns) { return knot.axis_ns < t_ns; });
  size_t piece = behind == knots_.begin() ? 0 : static_cast<size_t>(behind - knots_.begin()) - 1;
  const Knot& knot = knots_[piece];
  double rate = behind == knots_.begin() ? before_.rate : rates_[piece];
  double past = static_cast<double>(axis_ns - knot.axis_ns);
  int64_t own = Saturated(knot.own_ns, axis_ns - knot.axis_ns);
  if (rate != 0) own = Saturated(knot.own_ns, static_cast<int64_t>(past / std::max(1.0 + rate, 1e-9)));
  if (behind != knots_.end()) own = std::min(own, behind->own_ns);
  // What is left is rounding.
  for (int step = 0; step < 8 && At(own) < axis_ns; ++step) ++own;
  for (int step = 0; step < 8 && At(own - 1) >= axis_ns; ++step) --own;
  return own;
}

int64_t HostAxis::ErrorNs(int64_t own_ns) const {
  size_t piece = PieceOf(own_ns);
  int64_t error = knots_[piece].error_ns;
  int64_t past = own_ns - knots_[piece].own_ns;
  if (past > 0 && piece + 1 < knots_.size()) return std::max(error, knots_[piece + 1].error_ns);
  double doubt = past < 0 ? before_.doubt : behind_.doubt;
  return Saturated(error, static_cast<int64_t>(std::fabs(static_cast<double>(past)) * doubt));
}

double HostAxis::rate() const {
  const Knot &first = knots_.front(), &last = knots_.back();
  if (last.own_ns == first.own_ns) return rates_.front();
  return static_cast<double>(last.axis_ns - first.axis_ns) / static_cast<double>(last.own_ns - first.own_ns) - 1.0;
}

void HostAxis::Shift(int64_t axis_ns) {
  for (Knot& knot : knots_) knot.axis_ns += axis_ns;
}

}  // namespace ddbg::analyzer
