#include "analyzer/align/hull.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddbg::analyzer {
namespace {

constexpr double kMarginNs = 8;  // rounding must not lead a line across
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void HullLine::Add(double x, double y) {
  double sign = lower_ ? 1 : -1;
  if (!points_.empty() && points_.back().x == x) {
    if (sign * y >= sign * points_.back().y) return;
    points_.pop_back();
  }
  while (points_.size() >= 2) {
    const Point &a = points_[points_.size() - 2], &b = points_.back();
    double cross = (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
    if (sign * cross > 0) break;
    points_.pop_back();
  }
  points_.push_back({x, y});
}

double HullLine::At(double x, double slope, double doubt) const {
  double sign = lower_ ? 1 : -1, best = sign * kInfinity;
  auto tighten = [&](double y) { best = sign * std::min(sign * best, sign * y); };
  for (const Point& p : points_) tighten(p.y + slope * (x - p.x) + sign * doubt * std::fabs(x - p.x));
  if (points_.empty() || x <= points_.front().x || x >= points_.back().x) return best;
  auto right = std::lower_bound(points_.begin(), points_.end(), x, [](const Point& p, double at) { return p.x < at; });
  const Point &a = right[-1], &b = *right;
  tighten(a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x));
  return best;
}

double HullLine::Height(double slope, double x0) const {
  double best = lower_ ? kInfinity : -kInfinity;
  for (const Point& p : points_) {
    double height = p.y - slope * (p.x - x0);
    best = lower_ ? std::min(best, height) : std::max(best, height);
  }
  return best;
}

double Tube::Room(double slope) const { return above_.Height(slope, 0) - below_.Height(slope, 0); }

// The room is concave in the slope.
double Tube::WidestRate(double most) const {
  double low = -most, high = most;
  for (int i = 0; i < 80; ++i) {
    double a = low + (high - low) / 3, b = high - (high - low) / 3;
    (Room(a) < Room(b) ? low : high) = Room(a) < Room(b) ? a : b;
  }
  return (low + high) / 2;
}

bool Tube::HasLine(double most) const { return !bounded() || Room(WidestRate(most)) >= 0; }

std::pair<double, double> Tube::Rates(double most) const {
  if (!bounded()) return {-most, most};
  double widest = WidestRate(most);
  if (Room(widest) < 0) return {widest, widest};
  double least = std::min(kMarginNs, Room(widest) / 2);
  auto edge = [&](double bad) {
    if (Room(bad) >= least) return bad;
    double good = widest;
    for (int i = 0; i < 60; ++i) {
      double middle = (good + bad) / 2;
      (Room(middle) >= least ? good : bad) = middle;
    }
    return good;
  };
  return {edge(-most), edge(most)};
}

std::pair<double, double> Tube::Heights(double slope, double x0) const {
  return {below_.Height(slope, x0), above_.Height(slope, x0)};
}

}  // namespace ddbg::analyzer
