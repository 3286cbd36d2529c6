// From the own times of some ranks, round by round, to who holds the others up and in which pattern. Pure statistics:
// no calls, no clocks of different processes compared. Linear in ranks × rounds but for a sort by rank.
//
// A round is one turn of a loop: from one collective to the next of the same call site. Healthy jobs have noise, and on
// a busy node a lot of it (ranks that spin preempt each other for tens of ms), so a rank is blamed only if what is lost
// to it is
//   large        a share of the time of the rounds it lasts over: see the constants
//   consistent   in nine of ten blocks of consecutive rounds more than half of its mean: noise comes in bursts, so that
//                single rounds are no independent trials, and blocks of them nearly are
//   beyond noise times what the blocks of all ranks scatter by, and times what the other ranks show
// A lasting imbalance is common in good programs, a change is not: it needs less. The first rounds (warm-up) do not
// count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddbg::analyzer {

// Shares of the time of the rounds concerned.
inline constexpr double kConstantLoss = 0.10;
inline constexpr double kOnsetLoss = 0.03;
inline constexpr double kDriftLoss = 0.05;      // at its end
inline constexpr double kPeriodicLoss = 0.02;   // strictly regular, three times at least
inline constexpr double kIrregularLoss = 0.08;  // pauses of one rank in no rhythm
inline constexpr int64_t kPauseNs =
    10'000'000;                              // less is what a scheduler's turn takes, a daemon's or our own thread's
inline constexpr double kOneOffLoss = 0.10;  // and a second at least: less is a hiccup
inline constexpr int64_t kOneOffNs = 1'000'000'000;
inline constexpr double kImbalanceLoss = 0.30;  // nobody's in particular: a fault
inline constexpr double kImbalanceNote = 0.10;  // worth a sentence
inline constexpr double kConsistent = 0.9;
inline constexpr double kBeyondNoise = 4.0;
inline constexpr double kPauseBeyond = 3.0;            // a pause, against the longest excess of any other rank
inline constexpr size_t kFewestRounds = 16;            // and on each side of a small change
inline constexpr int64_t kShortestNs = 1'000'000'000;  // of what lasts: a busy node may look so for less

struct RoundTimes {
  std::vector<std::vector<float>> own;  // by rank, by round: ns of own time before the collective
  std::vector<float> cycle;             // by round: ns since the round before ended
  size_t rounds() const { return cycle.size(); }
  size_t ranks() const { return own.size(); }
};

enum class Shape { kConstant, kOnset, kDrift, kPeriodic, kIrregular, kOneOff };

struct Straggle {
  size_t rank = 0;  // index into RoundTimes::own
  Shape shape = Shape::kConstant;
  double loss = 0;            // share of the time of the rounds from `from` on; one-off: of all
  double excess_ns = 0;       // more than the others in an affected round; drift: at the end
  double lost_ns = 0;         // in all
  size_t from = 0;            // first affected round
  size_t period = 0;          // periodic: rounds from one to the next
  size_t times = 0;           // affected rounds, where they are counted
  std::vector<size_t> where;  // those, of pauses
  double certainty = 0;       // 0 to 1: how far beyond the noise
};

struct Judgement {
  std::vector<Straggle> culprits;  // by loss, the largest first
  double imbalance = 0;            // share of time by which the slowest of each round exceeds the middle one
  double noise = 0;                // share of time that no own time explains: transfers, and ranks kept from a CPU
  std::vector<double> lost;        // by rank: share of time by which it exceeds the others where it is the slowest
};

Judgement Judge(const RoundTimes& times);

// Is that much imbalance a fault, and is it now this rank's and now that one's? For `lost` see Judgement.
bool IsNobodys(double imbalance, double noise, const std::vector<double>& lost);

}  // namespace ddbg::analyzer
