#include "analyzer/align/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyzer/align/hull.h"

namespace ddbg::analyzer {
namespace {

// Oscillators are within 100 ppm, and NTP slews by 500 ppm at most while it holds its time.
constexpr double kMostRate = 1000e-6;
constexpr double kLikelyRate = 100e-6;
// A rate wanders with the temperature; over a minute by too little to tell.
constexpr double kWander = 0.1e-6;
constexpr double kPieceNs = 60e9;
constexpr size_t kPieceBounds = 512;
constexpr double kFloorNs = 500;  // of the error: what rounding and the wander within a piece may come to
constexpr int kKnotsPerPiece = 8;
constexpr double kTightNs = 60'000;  // bounds as close as this are better than any guess
constexpr double kTightSpreads = 4;  // and so are those that are as close as this against how far pairs are off

struct Bound {
  double x, y;  // ns of the own clock since the first; how far the other is ahead, less that at the first
  bool at_most;
};

struct Pair {
  double x, y, noise;
};

struct Line {
  double x0 = 0, y0 = 0, rate = 0;
  double least_rate = -kLikelyRate, most_rate = kLikelyRate;
  double At(double x) const { return y0 + rate * (x - x0); }
};

class Fitter {
 public:
  explicit Fitter(const ClockEvidence& evidence) { Read(evidence); }

  ClockFit Fit() {
    ClockFit fit;
    if (bounds_.empty()) return fit;
    trend_ = TrendOf();
    for (size_t from = 0; from < bounds_.size();) {
      size_t to = PieceFrom(from);
      AddPiece(from, to, &fit);
      from = to;
    }
    Finish(&fit);
    return fit;
  }

 private:
  void Read(const ClockEvidence& evidence) {
    bool any = false;
    auto base = [&](int64_t own, int64_t other) {
      if (!any || own < own0_) own0_ = own, other0_ = other;
      any = true;
    };
    for (const ClockBound& b : evidence.at_least) base(b.own_ns, b.other_ns);
    for (const ClockBound& b : evidence.at_most) base(b.own_ns, b.other_ns);
    auto x = [&](int64_t own) { return static_cast<double>(own - own0_); };
    auto y = [&](int64_t own, int64_t other) { return static_cast<double>((other - other0_) - (own - own0_)); };
    for (const ClockBound& b : evidence.at_least) bounds_.push_back({x(b.own_ns), y(b.own_ns, b.other_ns), false});
    for (const ClockBound& b : evidence.at_most) bounds_.push_back({x(b.own_ns), y(b.own_ns, b.other_ns), true});
    for (const ClockPair& p : evidence.together)
      pairs_.push_back({x(p.own_ns), y(p.own_ns, p.other_ns), static_cast<double>(p.noise_ns)});
    std::sort(bounds_.begin(), bounds_.end(), [](const Bound& a, const Bound& b) { return a.x < b.x; });
    std::sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) { return a.x < b.x; });
  }

  // The rate of the whole, where one rate will do: short pieces say little of it.
  struct Trend {
    double rate = 0, doubt = 30e-6;
  };
  Trend TrendOf() {
    Tube tube = TubeOf(0, bounds_.size());
    if (!tube.HasLine(kMostRate)) return {};
    Line line = LineThrough(tube, 0, bounds_.size());
    return {line.rate, 2e-6};
  }

  Tube TubeOf(size_t from, size_t to) const {
    Tube tube;
    for (size_t i = from; i < to; ++i)
      bounds_[i].at_most ? tube.AddAbove(bounds_[i].x, bounds_[i].y) : tube.AddBelow(bounds_[i].x, bounds_[i].y);
    return tube;
  }

  bool IsStraight(size_t from, size_t to) const { return TubeOf(from, to).HasLine(kMostRate); }

  // How wide a strip passes.
  double RoomOf(size_t from, size_t to) const {
    Tube tube = TubeOf(from, to);
    return tube.bounded() ? tube.Room(tube.WidestRate(kMostRate)) : INFINITY;
  }

  // One past the last bound of the longest straight piece that begins at `from`.
  size_t PieceFrom(size_t from) const {
    size_t most = from + 1;
    while (most < bounds_.size() && (most - from < kPieceBounds || bounds_[most].x - bounds_[from].x < kPieceNs))
      ++most;
    // A short rest belongs to the piece before it.
    if (bounds_.size() - most < kPieceBounds / 2) most = bounds_.size();
    if (IsStraight(from, most)) return most;
    size_t good = from + 1, bad = most;
    for (size_t step = 16; from + step < bad; step *= 4) {
      if (!IsStraight(from, from + step)) {
        bad = from + step;
        break;
      }
      good = from + step;
    }
    auto narrow = [&](auto fits) {
      while (bad - good > 1) {
        size_t middle = good + (bad - good) / 2;
        (fits(middle) ? good : bad) = middle;
      }
    };
    narrow([&](size_t to) { return IsStraight(from, to); });
    // The last line that just passes is bent by what is behind the change already.
    double room = RoomOf(from, from + (good - from + 1) / 2);
    if (!std::isfinite(room)) return good;
    bad = good + 1, good = from + (good - from + 1) / 2;
    narrow([&](size_t to) { return RoomOf(from, to) >= room / 2; });
    return good;
  }

  // Least absolute deviations of the pairs, with the trend's rate for as long as they say little of their own.
  bool GuessFromPairs(double from, double to, Line* line) const {
    auto behind = [](const Pair& p, double x) { return p.x < x; };
    auto begin = std::lower_bound(pairs_.begin(), pairs_.end(), from, behind);
    auto end = std::lower_bound(begin, pairs_.end(), std::nextafter(to, INFINITY), behind);
    if (begin == end) return false;
    std::vector<double> ys;
    for (auto p = begin; p != end; ++p) ys.push_back(p->y - trend_.rate * (p->x - line->x0));
    std::nth_element(ys.begin(), ys.begin() + static_cast<std::ptrdiff_t>(ys.size() / 2), ys.end());
    line->y0 = ys[ys.size() / 2];
    line->rate = trend_.rate;
    double prior = 1 / (trend_.doubt * trend_.doubt);
    for (int round = 0; round < 12; ++round) {
      double w0 = 0, wx = 0, wxx = prior, wy = 0, wxy = prior * trend_.rate;
      for (auto p = begin; p != end; ++p) {
        double spread = p->noise + 2'000, x = p->x - line->x0;
        double off = std::fabs(p->y - line->At(p->x));
        double w = std::min(1.0, spread / std::max(off, 1.0)) / (spread * spread);
        w0 += w, wx += w * x, wxx += w * x * x, wy += w * p->y, wxy += w * x * p->y;
      }
      double det = w0 * wxx - wx * wx;
      if (!(det > 0)) break;
      line->rate = (w0 * wxy - wx * wy) / det;
      line->y0 = (wy - line->rate * wx) / w0;
    }
    return true;
  }

  // How far from the line the middle one of the pairs is.
  double SpreadOfPairs(const Line& line, size_t from, size_t to) const {
    std::vector<double> off;
    for (const Pair& p : pairs_)
      if (p.x >= bounds_[from].x && p.x <= bounds_[to - 1].x) off.push_back(std::fabs(p.y - line.At(p.x)));
    if (off.empty()) return 0;
    auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
    std::nth_element(off.begin(), middle, off.end());
    return *middle;
  }

  // Where all bounds are close the middle of the widest strip between them is the best guess: the fastest message of
  // either direction touches it, again and again.
  Line LineThrough(const Tube& tube, size_t from, size_t to) const {
    Line line;
    line.x0 = (bounds_[from].x + bounds_[to - 1].x) / 2;
    line.rate = trend_.rate;
    auto [least, most] = tube.Rates(kMostRate);
    line.least_rate = least, line.most_rate = most;
    bool guessed = GuessFromPairs(bounds_[from].x, bounds_[to - 1].x, &line);
    double widest = tube.bounded() ? tube.WidestRate(kLikelyRate) : 0, room = tube.bounded() ? tube.Room(widest) : 0;
    bool tight =
        tube.bounded() && (!guessed || room <= std::max(kTightNs, kTightSpreads * SpreadOfPairs(line, from, to)));
    if (tight) line.rate = widest;
    line.rate = std::clamp(line.rate, least, most);
    auto [low, high] = tube.Heights(line.rate, line.x0);
    if (!tube.bounded()) {
      // One side only: as close to it as a message is fast.
      double near = std::isfinite(high) ? high - 2'000 : low + 2'000;
      line.y0 = guessed ? std::clamp(line.y0, low, high) : near;
    } else if (tight) {
      line.y0 = (low + high) / 2;
    } else {
      double margin = std::min(4.0, (high - low) / 4);  // rounding must not lead across
      line.y0 = std::clamp(line.y0, low + margin, high - margin);
    }
    return line;
  }

  struct Place {
    double x, y, error;
  };

  static double RateDoubt(const Line& line) {
    return kWander + std::min(kLikelyRate, std::max(line.most_rate - line.rate, line.rate - line.least_rate));
  }

  double ErrorAt(const Tube& tube, const Line& line, double x) const {
    double doubt = RateDoubt(line);
    double above = tube.Above(x, line.rate, doubt) - line.At(x), below = line.At(x) - tube.Below(x, line.rate, doubt);
    return std::max({above, below, 0.0}) + kFloorNs;
  }

  void AddPiece(size_t from, size_t to, ClockFit* fit) {
    Tube tube = TubeOf(from, to);
    Line line = LineThrough(tube, from, to);
    double begin = bounds_[from].x, end = bounds_[to - 1].x;
    std::vector<double> errors;
    for (int i = 0; i <= kKnotsPerPiece; ++i)
      errors.push_back(ErrorAt(tube, line, begin + (end - begin) * i / kKnotsPerPiece));
    std::nth_element(errors.begin(), errors.begin() + kKnotsPerPiece / 2, errors.end());
    double error = errors[kKnotsPerPiece / 2];
    if (!places_.empty()) LookForJump(line, from, to, error, fit);
    for (int i = 0; i <= kKnotsPerPiece; ++i) {
      double x = begin + (end - begin) * i / kKnotsPerPiece;
      if (!places_.empty() && x - places_.back().x < 1) continue;
      places_.push_back({x, line.At(x), ErrorAt(tube, line, x)});
    }
    if (lines_++ == 0) first_ = line;
    last_ = line, last_from_ = from, last_error_ = error;
  }

  // What the rates may have done between two lines is no jump.
  void LookForJump(const Line& line, size_t from, size_t to, double error, ClockFit* fit) {
    constexpr double kLeastNs = 1e6;
    constexpr size_t kLeastBounds = 8;
    double begin = bounds_[from].x;
    double lost = line.At(begin) - last_.At(begin);
    // The last piece went on as long as it could, into bounds behind the jump, which are far off on the easy side.
    size_t last = from - 1;
    auto is_behind = [&](const Bound& b) {
      return b.at_most == (lost > 0) && std::fabs(b.y - last_.At(b.x)) > std::fabs(lost) / 2;
    };
    while (last > last_from_ && is_behind(bounds_[last])) --last;
    // What went by meanwhile is what the clock shows that did not leap.
    double end = bounds_[last].x, apart = line.At(begin) - last_.At(end);
    double meanwhile = std::max(0.0, std::min(begin - end, begin - end + apart));
    lost = apart - meanwhile * (line.rate + last_.rate) / 2;
    error += last_error_ + meanwhile * 2 * kLikelyRate;
    if (!(std::fabs(lost) > error + kLeastNs) || to - from < kLeastBounds || last - last_from_ < kLeastBounds) return;
    fit->jumps.push_back({own0_ + std::llround(end), own0_ + std::llround(begin), std::llround(lost),
                          std::llround(std::min(error, 1e18))});
    while (places_.size() > 1 && places_.back().x >= end) places_.pop_back();
    if (places_.back().x < end) places_.push_back({end, last_.At(end), last_error_});
  }

  void Finish(ClockFit* fit) {
    std::vector<HostAxis::Knot> knots;
    std::vector<int64_t> errors;
    for (const Place& place : places_) {
      int64_t past = std::llround(place.x);
      HostAxis::Knot knot;
      knot.own_ns = own0_ + past;
      knot.axis_ns = other0_ + past + std::llround(place.y);
      knot.error_ns = place.error < 1e17 ? std::llround(place.error) : kUnknownError;
      errors.push_back(knot.error_ns);
      if (!knots.empty() && (knot.own_ns <= knots.back().own_ns || knot.axis_ns < knots.back().axis_ns)) continue;
      knots.push_back(knot);
    }
    std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
    fit->error_ns = errors[errors.size() / 2];
    fit->axis = HostAxis(std::move(knots), {first_.rate, RateDoubt(first_)}, {last_.rate, RateDoubt(last_)});
  }

  int64_t own0_ = 0, other0_ = 0;
  std::vector<Bound> bounds_;
  std::vector<Pair> pairs_;
  Trend trend_;
  std::vector<Place> places_;
  Line first_, last_;
  size_t lines_ = 0, last_from_ = 0;
  double last_error_ = 0;
};

// Of every 64 along the time those on the hull: no straight line can cross another without crossing one of them.
void ThinBounds(std::vector<ClockBound>* bounds, bool at_most) {
  constexpr size_t kRow = 64;
  std::sort(bounds->begin(), bounds->end(),
            [](const ClockBound& a, const ClockBound& b) { return a.own_ns < b.own_ns; });
  std::vector<ClockBound> kept;
  for (size_t from = 0; from < bounds->size(); from += kRow) {
    size_t to = std::min(from + kRow, bounds->size());
    HullLine hull(at_most);
    const ClockBound& base = (*bounds)[from];
    for (size_t i = from; i < to; ++i) {
      const ClockBound& b = (*bounds)[i];
      hull.Add(static_cast<double>(b.own_ns - base.own_ns),
               static_cast<double>((b.other_ns - base.other_ns) - (b.own_ns - base.own_ns)));
    }
    for (const HullLine::Point& p : hull.points()) {
      int64_t past = std::llround(p.x);
      kept.push_back({base.own_ns + past, base.other_ns + past + std::llround(p.y)});
    }
  }
  *bounds = std::move(kept);
}

}  // namespace

ClockFit FitClock(ClockEvidence evidence) { return Fitter(evidence).Fit(); }

void Thin(ClockEvidence* evidence) {
  ThinBounds(&evidence->at_least, false);
  ThinBounds(&evidence->at_most, true);
  constexpr size_t kRow = 32, kKept = 4;
  std::vector<ClockPair>& pairs = evidence->together;
  std::sort(pairs.begin(), pairs.end(), [](const ClockPair& a, const ClockPair& b) { return a.own_ns < b.own_ns; });
  std::vector<ClockPair> kept;
  for (size_t from = 0; from < pairs.size(); from += kRow) {
    auto begin = pairs.begin() + static_cast<std::ptrdiff_t>(from);
    auto end = pairs.begin() + static_cast<std::ptrdiff_t>(std::min(from + kRow, pairs.size()));
    auto cut = std::min(begin + kKept, end);
    std::nth_element(begin, cut == end ? end - 1 : cut, end,
                     [](const ClockPair& a, const ClockPair& b) { return a.noise_ns < b.noise_ns; });
    kept.insert(kept.end(), begin, cut);
  }
  pairs = std::move(kept);
}

}  // namespace ddbg::analyzer
