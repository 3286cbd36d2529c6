// Made-up loops with noise of several kinds, by seed: how often a healthy one is blamed, and a planted straggler found.
#include "analyzer/find/straggler_pattern.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace ddbg::analyzer {
namespace {

constexpr float kMs = 1e6f;

// How a rank's own times scatter beside its work.
enum class Noise {
  kQuiet,       // a per cent or so
  kHeavy,       // mostly little, seldom ten times that
  kPreempted,   // more ranks than CPUs: slices of 4 to 30 ms, that now this rank and now that gets, in bursts
  kFavoured,    // the same, and for seconds at a time one rank has a CPU for itself
  kOtherJobs,   // something else comes and goes on one CPU, for a quarter of the time, on whoever is there
  kImbalanced,  // by a constant per cent or two for each rank, as domains are cut
};
constexpr Noise kAllNoise[] = {Noise::kQuiet,    Noise::kHeavy,     Noise::kPreempted,
                               Noise::kFavoured, Noise::kOtherJobs, Noise::kImbalanced};

struct Loop {
  size_t ranks = 4, rounds = 200;
  float work_ms = 5;
  Noise noise = Noise::kQuiet;
  std::function<float(size_t rank, size_t round)> extra_ms = [](size_t, size_t) { return 0.f; };
};

RoundTimes Make(const Loop& loop, unsigned seed) {
  std::mt19937 random(seed);
  auto uniform = [&](float from, float to) { return std::uniform_real_distribution<float>(from, to)(random); };
  RoundTimes times;
  times.own.assign(loop.ranks, {});
  std::vector<float> bias(loop.ranks);
  for (float& each : bias) each = uniform(0, 0.03f);
  size_t victim = 0, until = 0;
  float slowdown = 1;
  for (size_t k = 0; k < loop.rounds; ++k) {
    if (k >= until) {
      victim = random() % loop.ranks;
      until = k + 5 + random() % 60;
      slowdown = random() % 4 == 0 ? uniform(1.3f, 2.2f) : 1;
    }
    float slowest = 0;
    for (size_t r = 0; r < loop.ranks; ++r) {
      float ms = loop.work_ms * uniform(1, 1.01f);
      switch (loop.noise) {
        case Noise::kQuiet: break;
        case Noise::kHeavy: ms += 0.02f * loop.work_ms * std::pow(uniform(0.0005f, 1), -0.6f); break;
        case Noise::kPreempted:
        case Noise::kFavoured:
          if (loop.noise == Noise::kPreempted || r != victim)
            while (uniform(0, 1) < 0.45f) ms += uniform(3, 12);
          if (uniform(0, 1) < 0.03f) ms += uniform(10, 40);
          break;
        case Noise::kOtherJobs:
          if (r == victim) ms *= slowdown;
          break;
        case Noise::kImbalanced: ms *= 1 + bias[r]; break;
      }
      ms += loop.extra_ms(r, k);
      slowest = std::max(slowest, ms);
      times.own[r].push_back(ms * kMs);
    }
    float lag = loop.noise == Noise::kPreempted || loop.noise == Noise::kFavoured ? uniform(0, 12) : 0.05f;
    times.cycle.push_back((slowest + lag) * kMs);
  }
  return times;
}

struct Score {
  int runs = 0, hits = 0, wrong = 0;
};

// Over 20 seeds each of ranks and rounds: culprits that are `rank`, of shape `shape`, and others.
Score Count(Loop loop, int rank, std::function<bool(const Straggle&)> right) {
  Score score;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Judgement judgement = Judge(Make(loop, seed * 7919 + 17));
    ++score.runs;
    bool hit = false;
    for (const Straggle& each : judgement.culprits) {
      hit = hit || (static_cast<int>(each.rank) == rank && right(each));
      score.wrong += static_cast<int>(each.rank) != rank;
    }
    score.hits += hit;
  }
  return score;
}

TEST(StragglerPattern, BlamesNobodyInHealthyLoops) {
  int runs = 0, alarms = 0;
  std::string which;  // kind of noise/ranks/rounds:shape
  for (Noise noise : kAllNoise)
    for (size_t ranks : {2, 3, 4, 8, 64})
      for (size_t rounds : {20, 40, 100, 400, 1500})
        for (unsigned seed = 0; seed < 40; ++seed) {
          if (ranks * rounds > 20'000 && seed >= 5) break;  // takes long
          Loop loop;
          loop.noise = noise, loop.ranks = ranks, loop.rounds = rounds;
          Judgement judgement = Judge(Make(loop, seed + 1000 * static_cast<unsigned>(noise)));
          ++runs;
          if (judgement.culprits.empty()) continue;
          ++alarms;
          which += " " + std::to_string(static_cast<int>(noise)) + "/" + std::to_string(ranks) + "/" +
                   std::to_string(rounds) + ":" + std::to_string(static_cast<int>(judgement.culprits[0].shape));
        }
  RecordProperty("runs", runs);
  EXPECT_EQ(alarms, 0) << "of " << runs << which;
}

TEST(StragglerPattern, BlamesNobodyWhenAllAreSlow) {
  Loop loop;
  loop.extra_ms = [](size_t, size_t k) { return k >= 100 ? 7.f : k % 50 == 0 ? 200.f : 0.f; };
  Score score = Count(loop, -1, [](const Straggle&) { return false; });
  EXPECT_EQ(score.wrong, 0);
}

TEST(StragglerPattern, FindsConstantOne) {
  for (Noise noise : {Noise::kQuiet, Noise::kHeavy, Noise::kOtherJobs, Noise::kImbalanced})
    for (size_t ranks : {3, 4, 8}) {
      Loop loop;
      loop.noise = noise, loop.ranks = ranks;
      loop.extra_ms = [](size_t r, size_t) { return r == 1 ? 5.f : 0.f; };
      Score score = Count(loop, 1, [](const Straggle& s) { return s.shape == Shape::kConstant; });
      int least = noise == Noise::kOtherJobs ? 50 : 95;  // per cent: a loop of two seconds, disturbed for half of one
      EXPECT_GE(score.hits, score.runs * least / 100) << static_cast<int>(noise) << " " << ranks;
      EXPECT_LE(score.wrong, noise == Noise::kOtherJobs ? 2 : 0) << static_cast<int>(noise) << " " << ranks;
    }
}

TEST(StragglerPattern, FindsOnsetWithinThreeRounds) {
  for (Noise noise : {Noise::kQuiet, Noise::kImbalanced}) {
    Loop loop;
    loop.noise = noise, loop.rounds = 300, loop.work_ms = 10;
    loop.extra_ms = [](size_t r, size_t k) { return r == 3 && k >= 140 ? 0.6f : 0.f; };
    Score score =
        Count(loop, 3, [](const Straggle& s) { return s.shape == Shape::kOnset && s.from >= 137 && s.from <= 143; });
    EXPECT_GE(score.hits, score.runs * 95 / 100);
    EXPECT_EQ(score.wrong, 0);
  }
}

TEST(StragglerPattern, FindsDrift) {
  Loop loop;
  loop.rounds = 400;
  loop.extra_ms = [](size_t r, size_t k) { return r == 2 ? 0.005f * static_cast<float>(k) : 0.f; };
  Score score = Count(loop, 2, [](const Straggle& s) { return s.shape == Shape::kDrift; });
  EXPECT_GE(score.hits, score.runs * 95 / 100);
  EXPECT_EQ(score.wrong, 0);
}

TEST(StragglerPattern, FindsPeriodicPauses) {
  for (Noise noise : {Noise::kQuiet, Noise::kHeavy, Noise::kOtherJobs, Noise::kImbalanced}) {
    Loop loop;
    loop.rounds = 1700, loop.noise = noise;
    loop.extra_ms = [](size_t r, size_t k) { return r == 0 && k % 400 == 399 ? 220.f : 0.f; };
    Score score = Count(loop, 0, [](const Straggle& s) { return s.shape == Shape::kPeriodic && s.period == 400; });
    EXPECT_GE(score.hits, score.runs * 95 / 100) << static_cast<int>(noise);
    EXPECT_EQ(score.wrong, 0);
  }
}

TEST(StragglerPattern, FindsPauseOfSeconds) {
  Loop loop;
  loop.extra_ms = [](size_t r, size_t k) { return r == 1 && k == 100 ? 3000.f : 0.f; };
  Score score = Count(loop, 1, [](const Straggle& s) { return s.shape == Shape::kOneOff && s.from == 100; });
  EXPECT_EQ(score.hits, score.runs);
  EXPECT_EQ(score.wrong, 0);
}

TEST(StragglerPattern, TellsRandomImbalanceFromNoise) {
  int large = 0, small = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    auto extra = [&](float most) {
      return [&random, most](size_t, size_t) { return std::uniform_real_distribution<float>(0, most)(random); };
    };
    Loop loop;
    loop.work_ms = 1, loop.extra_ms = extra(12);
    auto nobodys = [](const Judgement& judgement) {
      return judgement.culprits.empty() && IsNobodys(judgement.imbalance, judgement.noise, judgement.lost);
    };
    large += nobodys(Judge(Make(loop, seed)));
    loop.work_ms = 10, loop.extra_ms = extra(4);
    small += nobodys(Judge(Make(loop, seed)));
  }
  EXPECT_GE(large, 38);
  EXPECT_EQ(small, 0);
}

}  // namespace
}  // namespace ddbg::analyzer
