// Straight lines between points that must lie above and points that must lie below. Pure geometry.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace ddbg::analyzer {

// Lower hull of points (what a line must pass below) or upper hull. Points come with ascending x.
class HullLine {
 public:
  struct Point {
    double x, y;
  };

  explicit HullLine(bool lower) : lower_(lower) {}
  void Add(double x, double y);
  bool empty() const { return points_.empty(); }
  const std::vector<Point>& points() const { return points_; }
  // Height at x; from the ends and from each corner it goes away from the hull's own side at slope ± `doubt` at most.
  double At(double x, double slope, double doubt) const;
  // The least (lower) or largest height over x0 of a line of this slope through a point.
  double Height(double slope, double x0) const;

 private:
  bool lower_;
  std::vector<Point> points_;
};

// The room between both.
class Tube {
 public:
  void AddAbove(double x, double y) { above_.Add(x, y); }
  void AddBelow(double x, double y) { below_.Add(x, y); }
  bool bounded() const { return !above_.empty() && !below_.empty(); }

  // Does a line of a slope within ±most pass?
  bool HasLine(double most) const;
  // Slopes that pass, within ±most; the one that nearly does where none does.
  std::pair<double, double> Rates(double most) const;
  // Heights over x0 that a line of this slope may have; infinite where nothing bounds it.
  std::pair<double, double> Heights(double slope, double x0) const;
  // How high and how low the room is at x, for what has this slope ± doubt.
  double Above(double x, double slope, double doubt) const { return above_.At(x, slope, doubt); }
  double Below(double x, double slope, double doubt) const { return below_.At(x, slope, doubt); }
  // How wide a strip of this slope passes (negative: none), and the slope of the widest, within ±most.
  double Room(double slope) const;
  double WidestRate(double most) const;

 private:
  HullLine above_{true}, below_{false};
};

}  // namespace ddbg::analyzer
