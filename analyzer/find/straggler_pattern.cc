#include "analyzer/find/straggler_pattern.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostBlocks = 16;
constexpr size_t kFewestBefore = 4;  // rounds before a change

double Sum(const std::vector<float>& values, size_t from, size_t to) {
  return std::accumulate(values.begin() + from, values.begin() + to, 0.0);
}

float Median(std::vector<float> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Standard deviation of the undisturbed part.
float Sigma(const std::vector<float>& values) {
  float median = Median(values);
  std::vector<float> off;
  for (float value : values) off.push_back(std::fabs(value - median));
  return 1.4826f * Median(std::move(off));
}

// Own time of each rank against the middle of the others', round by round.
std::vector<std::vector<float>> Excess(const RoundTimes& times) {
  size_t ranks = times.ranks();
  std::vector<std::vector<float>> excess(ranks, std::vector<float>(times.rounds()));
  std::vector<float> sorted(ranks);
  for (size_t k = 0; k < times.rounds(); ++k) {
    for (size_t r = 0; r < ranks; ++r) sorted[r] = times.own[r][k];
    std::sort(sorted.begin(), sorted.end());
    for (size_t r = 0; r < ranks; ++r) {
      float own = times.own[r][k];
      size_t place = std::lower_bound(sorted.begin(), sorted.end(), own) - sorted.begin();
      auto other = [&](size_t i) { return sorted[i < place ? i : i + 1]; };
      size_t others = ranks - 1;
      excess[r][k] = own - (other((others - 1) / 2) + other(others / 2)) / 2;
    }
  }
  return excess;
}

struct Blocks {
  std::vector<size_t> begin;  // of each, and the end
  size_t count() const { return begin.size() - 1; }
};

Blocks Cut(size_t from, size_t to) {
  size_t rounds = to - from, count = std::clamp<size_t>(rounds / 4, 1, kMostBlocks);
  Blocks blocks;
  for (size_t j = 0; j <= count; ++j) blocks.begin.push_back(from + rounds * j / count);
  return blocks;
}

std::vector<float> Means(const std::vector<float>& values, const Blocks& blocks) {
  std::vector<float> means;
  for (size_t j = 0; j < blocks.count(); ++j) {
    size_t size = blocks.begin[j + 1] - blocks.begin[j];
    means.push_back(static_cast<float>(Sum(values, blocks.begin[j], blocks.begin[j + 1]) / static_cast<double>(size)));
  }
  return means;
}

double ShareAbove(const std::vector<float>& values, double limit) {
  if (values.empty()) return 0;
  return static_cast<double>(std::count_if(values.begin(), values.end(), [&](float v) { return v > limit; })) /
         static_cast<double>(values.size());
}

class Judge1 {
 public:
  explicit Judge1(const RoundTimes& times) : times_(times) {}

  Judgement Find() {
    warm_up_ = std::clamp<size_t>(times_.rounds() / 20, 1, 10);
    if (times_.ranks() < 2 || times_.rounds() < warm_up_ + kFewestRounds) return {};
    rounds_ = times_.rounds();
    total_ = Sum(times_.cycle, warm_up_, rounds_);
    if (total_ <= 0) return {};
    excess_ = Excess(times_);
    for (std::vector<float>& of_rank : excess_) of_rank.resize(rounds_);
    Measure();
    MeasureLost();
    FindPauses();
    FindLasting();
    std::sort(judgement_.culprits.begin(), judgement_.culprits.end(),
              [](const Straggle& a, const Straggle& b) { return a.lost_ns > b.lost_ns; });
    return std::move(judgement_);
  }

 private:
  void Measure() {
    double imbalance = 0, noise = 0;
    std::vector<float> column(times_.ranks());
    for (size_t k = warm_up_; k < rounds_; ++k) {
      for (size_t r = 0; r < column.size(); ++r) column[r] = times_.own[r][k];
      float slowest = *std::max_element(column.begin(), column.end());
      auto middle = column.begin() + (column.size() - 1) / 2;
      std::nth_element(column.begin(), middle, column.end());
      imbalance += slowest - *middle;
      noise += std::max(0.f, times_.cycle[k] - slowest);
    }
    judgement_.imbalance = imbalance / total_;
    judgement_.noise = noise / total_;
    round_ns_ = Median({times_.cycle.begin() + warm_up_, times_.cycle.end()});
  }

  void MeasureLost() {
    std::vector<double>& lost = judgement_.lost;
    lost.resize(times_.ranks());
    for (size_t k = warm_up_; k < rounds_; ++k) {
      size_t slowest = 0;
      for (size_t r = 1; r < lost.size(); ++r)
        if (times_.own[r][k] > times_.own[slowest][k]) slowest = r;
      lost[slowest] += std::max(0.f, excess_[slowest][k]) / total_;
    }
  }

  // Pauses: single rounds far beyond the rank's usual, of about the size of its largest ones. They are taken out of the
  // excess, so that what lasts is seen.
  void FindPauses() {
    std::vector<double> largest(times_.ranks());
    std::vector<std::vector<size_t>> where(times_.ranks());
    for (size_t r = 0; r < times_.ranks(); ++r) where[r] = LargePauses(r, &largest[r]);
    for (size_t r = 0; r < times_.ranks(); ++r) {
      double elsewhere = 0;
      for (size_t o = 0; o < times_.ranks(); ++o)
        if (o != r) elsewhere = std::max(elsewhere, largest[o]);
      if (!where[r].empty()) AddPauses(r, where[r], elsewhere);
    }
    for (size_t r = 0; r < times_.ranks(); ++r) {
      float middle = Median({excess_[r].begin() + warm_up_, excess_[r].end()});
      for (size_t k : where[r]) excess_[r][k] = middle;
    }
  }

  std::vector<size_t> LargePauses(size_t rank, double* largest) const {
    const std::vector<float>& excess = excess_[rank];
    std::vector<float> usual(excess.begin() + warm_up_, excess.end()), sorted = usual;
    std::nth_element(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<float>());
    *largest = *std::max_element(sorted.begin(), sorted.begin() + 3);
    float limit = Median(usual) + std::max({10 * Sigma(usual), 0.5f * round_ns_, 1e6f});
    // Half the size of the third, where there are three: one may be an exception.
    float size = sorted[2] > limit ? sorted[2] : static_cast<float>(*largest);
    std::vector<size_t> where;
    for (size_t k = warm_up_; k < rounds_; ++k)
      if (excess[k] > std::max(limit, size / 2)) where.push_back(k);
    // More than now and then is no pause but how the rank is.
    if (where.size() * 4 > rounds_ - warm_up_) where.clear();
    return where;
  }

  void AddPauses(size_t rank, const std::vector<size_t>& where, double elsewhere) {
    Straggle pauses;
    pauses.rank = rank;
    pauses.from = where.front();
    pauses.times = where.size();
    pauses.where = where;
    std::vector<float> amounts;
    for (size_t k : where) {
      amounts.push_back(excess_[rank][k]);
      pauses.lost_ns += excess_[rank][k];
    }
    pauses.loss = pauses.lost_ns / total_;
    pauses.excess_ns = Median(amounts);
    // Against the noise of all others at its worst.
    double beyond = pauses.excess_ns / std::max(elsewhere, 1.0);
    pauses.certainty = 1 - std::exp(-beyond / 2);
    pauses.period = Period(where);
    if (pauses.excess_ns < static_cast<double>(kPauseNs)) return;
    if (pauses.period && pauses.loss >= kPeriodicLoss && beyond >= (where.size() >= 6 ? 1.5 : kPauseBeyond)) {
      pauses.shape = Shape::kPeriodic;
    } else if (where.size() <= 2) {
      pauses.shape = Shape::kOneOff;
      pauses.period = 0;
      double amount = *std::max_element(amounts.begin(), amounts.end());
      if (amount < static_cast<double>(kOneOffNs) || pauses.lost_ns < kOneOffLoss * total_ || amount < 20 * round_ns_ ||
          beyond < 5)
        return;
    } else if (where.size() >= 6 && pauses.loss >= kIrregularLoss && beyond >= kPauseBeyond &&
               pauses.excess_ns >= 2 * round_ns_ && BlocksTouched(where) >= 5) {
      pauses.shape = Shape::kIrregular;
      pauses.period = 0;
    } else {
      return;
    }
    judgement_.culprits.push_back(std::move(pauses));
  }

  size_t BlocksTouched(const std::vector<size_t>& where) const {
    std::vector<bool> touched(8);
    for (size_t k : where) touched[(k - warm_up_) * 8 / (rounds_ - warm_up_)] = true;
    return std::count(touched.begin(), touched.end(), true);
  }

  // The rhythm of three or more; 0 if there is none. A turn may be left out.
  static size_t Period(const std::vector<size_t>& where) {
    if (where.size() < 3) return 0;
    std::vector<float> gaps;
    for (size_t i = 1; i < where.size(); ++i) gaps.push_back(static_cast<float>(where[i] - where[i - 1]));
    float period = Median(gaps);
    if (period < 4) return 0;
    size_t fitting = 0;
    for (float gap : gaps) {
      float turns = std::max(1.f, std::round(gap / period));
      fitting += std::fabs(gap - turns * period) <= std::max(1.f, 0.03f * period) && turns <= 2;
    }
    return fitting * 5 >= gaps.size() * 4 && (gaps.size() > 2 || fitting == gaps.size())
               ? static_cast<size_t>(std::lround(period))
               : 0;
  }

  void FindLasting() {
    if (total_ < static_cast<double>(kShortestNs)) return;
    blocks_ = Cut(warm_up_, rounds_);
    for (const std::vector<float>& of_rank : excess_) {
      means_.push_back(Means(of_rank, blocks_));
      middles_.push_back(Median(means_.back()));
    }
    // The excess over the middle has a mean above none where noise is one-sided, as it is.
    usual_ = std::max(0.f, Median(middles_));
    for (size_t r = 0; r < times_.ranks(); ++r) FindLastingOf(r);
  }

  // How much the blocks of the other ranks scatter about their middles.
  double Noise(size_t rank) const {
    std::vector<float> scatter;
    for (size_t o = 0; o < means_.size(); ++o)
      for (float mean : means_[o])
        if (o != rank) scatter.push_back(std::fabs(mean - middles_[o]));
    return 1.4826 * Median(std::move(scatter));
  }

  void FindLastingOf(size_t rank) {
    if (middles_[rank] <= 0 && means_[rank].back() <= 0) return;
    double noise = Noise(rank);
    Fit constant = FitConstant(rank), step = FitStep(rank);
    bool changes = step.after > step.before && step.error < 0.6 * constant.error && IsChange(rank, step);
    if (!changes) return AddConstant(rank, noise);
    Fit ramp = FitRamp(rank);
    ramp.error<0.8 * step.error && ramp.after> 0 ? AddDrift(rank, ramp, noise) : AddOnset(rank, step, noise);
  }

  struct Fit {
    size_t from = 0;
    double before = 0, after = 0;  // of a ramp: at its beginning, and what it has risen by at the end
    double error = 0;              // sum of squares
  };

  Fit FitConstant(size_t rank) const {
    Fit fit;
    fit.from = warm_up_;
    fit.after = Sum(excess_[rank], warm_up_, rounds_) / static_cast<double>(rounds_ - warm_up_);
    for (size_t k = warm_up_; k < rounds_; ++k) fit.error += Square(excess_[rank][k] - fit.after);
    return fit;
  }

  // The best place for one step, by least squares; not too near to an end. A few rounds before it are enough if it is
  // large: see AddOnset.
  Fit FitStep(size_t rank) const {
    const std::vector<float>& excess = excess_[rank];
    double n = static_cast<double>(rounds_ - warm_up_), sum = 0, squares = 0, left = 0;
    for (size_t k = warm_up_; k < rounds_; ++k) sum += excess[k], squares += Square(excess[k]);
    Fit best;
    best.error = INFINITY;
    size_t margin = (rounds_ - warm_up_) / 16;
    size_t first = warm_up_ + std::max(kFewestBefore, margin), end = rounds_ - std::max(kFewestRounds, margin);
    for (size_t k = warm_up_; k <= end; left += excess[k], ++k) {
      double before = static_cast<double>(k - warm_up_), after = n - before;
      if (k < first) continue;
      double error = squares - left * left / before - (sum - left) * (sum - left) / after;
      if (error < best.error) best = {k, left / before, (sum - left) / after, error};
    }
    return best;
  }

  // Level, then rising by the same amount each round, from one of the blocks' beginnings on.
  Fit FitRamp(size_t rank) const {
    const std::vector<float>& excess = excess_[rank];
    Fit best;
    best.error = INFINITY;
    double n = static_cast<double>(rounds_ - warm_up_), sum = 0, squares = 0;
    for (size_t k = warm_up_; k < rounds_; ++k) sum += excess[k], squares += Square(excess[k]);
    for (size_t j = 0; j + 2 < blocks_.count(); ++j) {
      size_t from = blocks_.begin[j];
      double x = 0, xx = 0, xy = 0;
      for (size_t k = from; k < rounds_; ++k) {
        double along = static_cast<double>(k - from);
        x += along, xx += along * along, xy += along * excess[k];
      }
      double slope = (xy - x * sum / n) / (xx - x * x / n), level = (sum - slope * x) / n;
      double error = squares - level * sum - slope * xy;
      if (error < best.error) best = {from, level, slope * static_cast<double>(rounds_ - 1 - from), error};
    }
    return best;
  }

  // Nine of ten blocks on each side lie on their side of the middle.
  bool IsChange(size_t rank, const Fit& step) const {
    double middle = (step.before + step.after) / 2;
    std::vector<float> before = Means(excess_[rank], Cut(warm_up_, step.from));
    std::vector<float> after = Means(excess_[rank], Cut(step.from, rounds_));
    return ShareAbove(after, middle) >= kConsistent && 1 - ShareAbove(before, middle) >= kConsistent;
  }

  double LossFrom(size_t from, double lost) const { return lost / Sum(times_.cycle, from, rounds_); }

  void AddConstant(size_t rank, double noise) {
    double excess = middles_[rank] - usual_;
    const std::vector<float>& means = means_[rank];
    if (excess <= 0 || means.size() < 8 || ShareAbove(means, usual_ + excess / 2) < kConsistent) return;
    double lost = excess * static_cast<double>(rounds_ - warm_up_);
    if (lost / total_ < kConstantLoss || excess < kBeyondNoise * noise) return;
    Add(rank, Shape::kConstant, warm_up_, excess, lost, excess / std::max(noise, 1.0));
  }

  void AddOnset(size_t rank, const Fit& step, double noise) {
    double rise = step.after - step.before;
    double lost = rise * static_cast<double>(rounds_ - step.from);
    if (Sum(times_.cycle, step.from, rounds_) < static_cast<double>(kShortestNs)) return;
    double least = step.from - warm_up_ < kFewestRounds ? kConstantLoss : kOnsetLoss;
    if (LossFrom(step.from, lost) < least || rise < kBeyondNoise * noise || step.after < rise / 2) return;
    Add(rank, Shape::kOnset, step.from, rise, lost, rise / std::max(noise, 1.0));
  }

  void AddDrift(size_t rank, const Fit& ramp, double noise) {
    double lost = ramp.after / 2 * static_cast<double>(rounds_ - ramp.from);
    double at_end =
        ramp.after / std::max<double>(1, Median({times_.cycle.end() - kFewestRounds / 2, times_.cycle.end()}));
    if (at_end < kDriftLoss || ramp.after < kBeyondNoise * noise) return;
    Add(rank, Shape::kDrift, ramp.from, ramp.after, lost, ramp.after / std::max(noise, 1.0));
  }

  void Add(size_t rank, Shape shape, size_t from, double excess, double lost, double times_noise) {
    Straggle straggle;
    straggle.rank = rank;
    straggle.shape = shape;
    straggle.from = from;
    straggle.excess_ns = excess;
    straggle.lost_ns = lost;
    straggle.loss = LossFrom(from, lost);
    straggle.certainty = 1 - std::exp(-times_noise / 6);
    judgement_.culprits.push_back(straggle);
  }

  static double Square(double value) { return value * value; }

  const RoundTimes& times_;
  size_t warm_up_ = 0, rounds_ = 0;
  double total_ = 0;
  float round_ns_ = 0;
  Blocks blocks_;
  std::vector<std::vector<float>> means_;  // of the excess, by rank, by block
  std::vector<float> middles_;             // of those, by rank
  float usual_ = 0;                        // the middle rank's
  std::vector<std::vector<float>> excess_;
  Judgement judgement_;
};

}  // namespace

Judgement Judge(const RoundTimes& times) { return Judge1(times).Find(); }

bool IsNobodys(double imbalance, double noise, const std::vector<double>& lost) {
  if (lost.empty() || imbalance < kImbalanceLoss || imbalance < 2 * noise) return false;
  double sum = std::accumulate(lost.begin(), lost.end(), 0.0);
  // Of two ranks the one may well have two thirds.
  double most = std::max(0.5, 2.2 / static_cast<double>(lost.size() + 1));
  return *std::max_element(lost.begin(), lost.end()) <= most * sum;
}

}  // namespace ddbg::analyzer
