#include "proto/host_clock.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/clock_ticks.h"

namespace ddbg {
namespace {

TEST(HostClock, ReadsTheOffsetOfTheMonotonicClock) {
  EXPECT_EQ(ParseMonotonicOffset("monotonic        5000         7\nboottime        10000         0\n"),
            5'000'000'000'007);
  EXPECT_EQ(ParseMonotonicOffset("monotonic          -3 500000000\nboottime            0         0\n"), -2'500'000'000);
}

TEST(HostClock, ReadsTheNumbersThatEarlyKernelsWrote) {
  EXPECT_EQ(ParseMonotonicOffset("1 5000 0\n7 10000 0\n"), 5'000'000'000'000);
  EXPECT_EQ(ParseMonotonicOffset("7 10000 0\n1 5000 0"), 5'000'000'000'000);
}

TEST(HostClock, TakesWhatItCannotReadForNoOffset) {
  EXPECT_EQ(ParseMonotonicOffset(""), 0);
  EXPECT_EQ(ParseMonotonicOffset("boottime 10000 0\n"), 0);
  EXPECT_EQ(ParseMonotonicOffset("monotonic\nboottime 10000 0\n"), 0);
  EXPECT_EQ(ParseMonotonicOffset("monotonic 99999999999999999 0\n"), 0);
  EXPECT_EQ(ParseMonotonicOffset(std::string(1000, '1')), 0);
}

TEST(HostClock, IsThisProcessClockLessItsOffset) {
  int64_t before = MonotonicNs() - MonotonicOffsetNs(), now = HostMonotonicNs();
  EXPECT_LE(before, now);
  EXPECT_LE(now, MonotonicNs() - MonotonicOffsetNs());
}

}  // namespace
}  // namespace ddbg
