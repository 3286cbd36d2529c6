#include "analyzer/load/clock_correction.h"

#include <gtest/gtest.h>

namespace ddbg::analyzer {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(ClockCorrection, LeavesTimesAloneWithoutPoints) {
  ClockCorrection clock;
  clock.Begin(5);
  EXPECT_EQ(clock.Corrected(1234), 1234);
}

TEST(ClockCorrection, TakesOffADriftInProportion) {
  // One part in 1000 too fast, looked at after 10 s and 20 s.
  ClockCorrection clock;
  clock.Add(110 * kSecond + kSecond / 100, 110 * kSecond);
  clock.Add(120 * kSecond + kSecond / 50, 120 * kSecond);
  clock.Begin(100 * kSecond);
  EXPECT_EQ(clock.Corrected(100 * kSecond), 100 * kSecond);
  EXPECT_NEAR(static_cast<double>(clock.Corrected(105 * kSecond + kSecond / 200)), 105e9, 1e3);
  EXPECT_NEAR(static_cast<double>(clock.Corrected(115 * kSecond + kSecond * 15 / 1000)), 115e9, 1e3);
  EXPECT_EQ(clock.Corrected(125 * kSecond), 125 * kSecond - kSecond / 50);
}

TEST(ClockCorrection, KeepsTheOrderOfTimes) {
  ClockCorrection clock;
  clock.Add(110 * kSecond, 110 * kSecond + 700);
  clock.Add(120 * kSecond, 120 * kSecond - 300);
  clock.Begin(100 * kSecond);
  int64_t last = 0;
  for (int64_t t = 99 * kSecond; t < 121 * kSecond; t += kSecond / 7) {
    EXPECT_GT(clock.Corrected(t), last);
    last = clock.Corrected(t);
  }
}

TEST(ClockCorrection, AProcessWithAnotherClockIsOffFromTheStart) {
  ClockCorrection clock;
  clock.Add(145 * kSecond + kSecond / 10, 100 * kSecond + kSecond / 10);
  clock.Add(155 * kSecond, 110 * kSecond);
  clock.Begin(145 * kSecond);
  EXPECT_EQ(clock.Corrected(145 * kSecond), 100 * kSecond);
  EXPECT_EQ(clock.Corrected(150 * kSecond), 105 * kSecond);
  EXPECT_EQ(clock.Corrected(165 * kSecond), 120 * kSecond);
}

TEST(ClockCorrection, DoesNotBelieveWhatIsNoDrift) {
  ClockCorrection clock;
  clock.Add(INT64_MIN, INT64_MAX);
  clock.Add(kSecond, 90'000 * kSecond);
  clock.Begin(0);
  EXPECT_EQ(clock.Corrected(42), 42);
}

}  // namespace
}  // namespace ddbg::analyzer
