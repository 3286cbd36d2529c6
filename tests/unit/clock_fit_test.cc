#include "analyzer/align/clock_fit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/made_clocks.h"

namespace ddbg::analyzer {
namespace {

using test::MadeClock;
using test::MadeDelays;

constexpr double kSecond = 1e9;

struct Traffic {
  double seconds = 30, every_s = 0.05;
  double spread_ns = 3e6;                             // of the arrivals
  double straggler_ns = 0;                            // how much later the other one always comes
  double floor_own_ns = 4000, floor_other_ns = 4000;  // from the own host to the other, and back
};

struct Score {
  std::vector<double> errors;
  size_t covered = 0;

  void Add(double error, int64_t bound) {
    errors.push_back(error);
    covered += error <= static_cast<double>(bound);
  }
  double Quantile(double q) {
    std::sort(errors.begin(), errors.end());
    return errors[static_cast<size_t>(q * static_cast<double>(errors.size() - 1))];
  }
  double Covered() const { return static_cast<double>(covered) / static_cast<double>(errors.size()); }
};

// Barriers of two hosts.
ClockEvidence Barriers(const MadeClock& own, const MadeClock& other, const Traffic& traffic, MadeDelays* delays) {
  ClockEvidence evidence;
  for (double t = 0; t < traffic.seconds * kSecond; t += traffic.every_s * kSecond) {
    double a = t + delays->Uniform(0, traffic.spread_ns);
    double b = t + delays->Uniform(0, traffic.spread_ns) + traffic.straggler_ns;
    double leaves_a = std::max(a + 1000, b + delays->Latency(traffic.floor_other_ns));
    double leaves_b = std::max(b + 1000, a + delays->Latency(traffic.floor_own_ns));
    evidence.at_least.push_back({own.At(leaves_a), other.At(b)});
    evidence.at_most.push_back({own.At(a), other.At(leaves_b)});
    evidence.together.push_back(
        {own.At(leaves_a), other.At(leaves_b), static_cast<int64_t>(std::min(leaves_a - a, leaves_b - b))});
  }
  return evidence;
}

void Judge(const ClockFit& fit, const MadeClock& own, const MadeClock& other, double from_s, double to_s,
           Score* score) {
  for (int i = 0; i <= 200; ++i) {
    double t = (from_s + (to_s - from_s) * i / 200) * kSecond;
    int64_t at = own.At(t);
    score->Add(std::fabs(static_cast<double>(fit.axis.At(at) - other.At(t))), fit.axis.ErrorNs(at));
  }
}

// Everything that bounds the clocks is kept to.
size_t Violations(const ClockFit& fit, const ClockEvidence& evidence) {
  size_t n = 0;
  for (const ClockBound& b : evidence.at_least) n += fit.axis.At(b.own_ns) < b.other_ns;
  for (const ClockBound& b : evidence.at_most) n += fit.axis.At(b.own_ns) > b.other_ns;
  return n;
}

MadeClock SomeClock(MadeDelays* delays) {
  MadeClock clock;
  clock.offset_ns = delays->Uniform(-2e4, 2e4) * kSecond;
  clock.ppm = delays->Uniform(-50, 50);
  return clock;
}

Score OverSeeds(const Traffic& traffic, int seeds = 200) {
  Score score;
  for (int seed = 0; seed < seeds; ++seed) {
    MadeDelays delays(seed);
    MadeClock own = SomeClock(&delays), other = SomeClock(&delays);
    ClockEvidence evidence = Barriers(own, other, traffic, &delays);
    ClockFit fit = FitClock(evidence);
    EXPECT_EQ(Violations(fit, evidence), 0u) << seed;
    EXPECT_TRUE(fit.jumps.empty()) << seed;
    Judge(fit, own, other, 0, traffic.seconds, &score);
  }
  return score;
}

TEST(ClockFit, IsWithinAMicrosecondWhereMessagesAreFastInBothDirections) {
  Score score = OverSeeds({});
  EXPECT_LE(score.Quantile(0.99), 1'000);
  EXPECT_GE(score.Covered(), 0.99);
}

TEST(ClockFit, DelaysThatDifferByDirectionCostHalfTheirDifference) {
  Traffic traffic;
  traffic.floor_other_ns = 16'000;
  Score score = OverSeeds(traffic);
  EXPECT_LE(score.Quantile(0.99), 7'000);
  EXPECT_GE(score.Covered(), 0.99);
}

TEST(ClockFit, OneThatAlwaysComesLateLeavesTheBoundsWideAndTheGuessGood) {
  Traffic traffic;
  traffic.straggler_ns = 100e6;
  traffic.every_s = 0.2;
  Score score = OverSeeds(traffic);
  EXPECT_LE(score.Quantile(0.99), 20'000);
  EXPECT_GE(score.Covered(), 0.99);
}

// More ranks than processors: most messages wait for their receiver's turn, few are fast.
TEST(ClockFit, BusyHostsWhoseMessagesMostlyComeLate) {
  Score score;
  for (int seed = 0; seed < 50; ++seed) {
    MadeDelays delays(seed);
    MadeClock own = SomeClock(&delays), other = SomeClock(&delays);
    ClockEvidence evidence;
    auto late = [&] { return delays.Latency(30'000) + delays.Uniform(0, delays.Uniform(0, 1) < 0.05 ? 2e4 : 2e6); };
    for (double t = 0; t < 10 * kSecond; t += 4e6) {
      double there = t + late(), sent = t + 2e6, back = sent + late();
      evidence.at_most.push_back({own.At(t), other.At(there)});
      evidence.at_least.push_back({own.At(back), other.At(sent)});
      evidence.together.push_back({own.At(t + 2000), other.At(there), 12'000});
      evidence.together.push_back({own.At(back), other.At(sent + 2000), 12'000});
    }
    ClockFit fit = FitClock(evidence);
    EXPECT_EQ(Violations(fit, evidence), 0u) << seed;
    Judge(fit, own, other, 0, 10, &score);
  }
  EXPECT_LE(score.Quantile(0.99), 10'000);
  EXPECT_GE(score.Covered(), 0.99);
}

TEST(ClockFit, FewBarriersOfAShortRun) {
  Traffic traffic;
  traffic.seconds = 0.5;
  traffic.every_s = 0.02;
  Score score = OverSeeds(traffic);
  EXPECT_LE(score.Quantile(0.99), 30'000);
  EXPECT_GE(score.Covered(), 0.99);
}

TEST(ClockFit, AThinnedHourIsAsGood) {
  Score score;
  for (int seed = 0; seed < 5; ++seed) {
    MadeDelays delays(seed);
    MadeClock own = SomeClock(&delays), other = SomeClock(&delays);
    Traffic traffic;
    traffic.seconds = 3600;
    ClockEvidence evidence = Barriers(own, other, traffic, &delays), thinned = evidence;
    Thin(&thinned);
    EXPECT_LT(thinned.at_most.size(), evidence.at_most.size() / 2);
    ClockFit fit = FitClock(thinned);
    EXPECT_EQ(Violations(fit, thinned), 0u);
    EXPECT_LE(Violations(fit, evidence), evidence.at_most.size() / 1000);
    Judge(fit, own, other, 0, traffic.seconds, &score);
  }
  EXPECT_LE(score.Quantile(0.99), 20'000);
  EXPECT_GE(score.Covered(), 0.99);
}

TEST(ClockFit, FollowsAClockThatIsSlewed) {
  Score score;
  for (int seed = 0; seed < 100; ++seed) {
    MadeDelays delays(seed);
    MadeClock own = SomeClock(&delays), other = SomeClock(&delays);
    other.slew_from_ns = delays.Uniform(10, 100) * kSecond;
    other.slew_ppm = delays.Uniform(-300, 300);
    Traffic traffic;
    traffic.seconds = 120;
    ClockEvidence evidence = Barriers(own, other, traffic, &delays);
    ClockFit fit = FitClock(evidence);
    EXPECT_TRUE(fit.jumps.empty()) << seed;
    Judge(fit, own, other, 0, traffic.seconds, &score);
  }
  EXPECT_LE(score.Quantile(0.99), 20'000);
  EXPECT_GE(score.Covered(), 0.99);
}

TEST(ClockFit, FindsAStepAndItsSize) {
  for (double step_s : {-0.05, 0.005, 3.0, 100.0}) {
    for (int seed = 0; seed < 20; ++seed) {
      MadeDelays delays(seed);
      MadeClock own = SomeClock(&delays), other = SomeClock(&delays);
      // Forward only, on either side: a monotonic clock never goes back.
      (step_s > 0 ? own : other).step_at_ns = 15.02 * kSecond;
      (step_s > 0 ? own : other).step_ns = std::fabs(step_s) * kSecond;
      ClockEvidence evidence = Barriers(own, other, {}, &delays);
      ClockFit fit = FitClock(evidence);
      ASSERT_EQ(fit.jumps.size(), 1u) << step_s << " " << seed;
      EXPECT_NEAR(static_cast<double>(fit.jumps[0].lost_ns), -step_s * kSecond, 200'000);
      EXPECT_LE(fit.jumps[0].after_ns, own.At(15.02 * kSecond));
      EXPECT_GE(fit.jumps[0].before_ns, own.At(15.01 * kSecond));
      Score score;
      Judge(fit, own, other, 0, 14.5, &score);
      Judge(fit, own, other, 15.5, 30, &score);
      EXPECT_LE(score.Quantile(0.99), 40'000);
      EXPECT_EQ(Violations(fit, evidence), 0u);
    }
  }
}

TEST(ClockFit, MessagesOfOneDirectionBoundOneSideOnly) {
  MadeDelays delays(1);
  MadeClock own = SomeClock(&delays), other = SomeClock(&delays);
  ClockEvidence evidence = Barriers(own, other, {}, &delays);
  evidence.at_least.clear();
  evidence.together.clear();
  ClockFit fit = FitClock(evidence);
  EXPECT_EQ(fit.axis.ErrorNs(evidence.at_most[100].own_ns), kUnknownError);
  EXPECT_EQ(Violations(fit, evidence), 0u);
}

TEST(ClockFit, NothingIsUnknown) { EXPECT_EQ(FitClock({}).error_ns, kUnknownError); }

TEST(ClockFit, OneBarrierGivesAnOffset) {
  ClockEvidence evidence;
  evidence.at_least = {{1000'000, 7000'000}};
  evidence.at_most = {{900'000, 6950'000}};
  evidence.together = {{1000'000, 7010'000, 5'000}};
  ClockFit fit = FitClock(evidence);
  EXPECT_NEAR(static_cast<double>(fit.axis.At(1000'000)), 7010'000, 50'000);
  EXPECT_EQ(Violations(fit, evidence), 0u);
  EXPECT_LT(fit.axis.ErrorNs(1000'000), 200'000);
  EXPECT_GT(fit.axis.ErrorNs(3600'000'000'000), 100'000'000);  // an hour at 100 ppm
}

}  // namespace
}  // namespace ddbg::analyzer
