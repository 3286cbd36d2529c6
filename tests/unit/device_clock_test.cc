#include "shim/nccl/plugin/device_clock.h"

#include <gtest/gtest.h>

namespace ddbg::shim::nccl::plugin {
namespace {

constexpr int64_t kEpoch = 1'700'000'000'000'000'000;

TEST(DeviceClock, KnowsNothingAtFirst) { EXPECT_FALSE(DeviceClock().Get().known); }

TEST(DeviceClock, IsBetweenTheClosestBounds) {
  DeviceClock clock;
  clock.WasAfter(kEpoch + 1000, 400);  // launched at 400, began at 1000
  clock.WasBefore(kEpoch + 1000, 5000);
  clock.WasAfter(kEpoch + 6000, 5900);
  clock.WasBefore(kEpoch + 7000, 7050);
  DeviceClock::Difference difference = clock.Get();
  ASSERT_TRUE(difference.known);
  EXPECT_LE(std::abs(difference.ns + kEpoch), difference.error);
  EXPECT_LE(difference.error, 80);
}

TEST(DeviceClock, OneBoundGivesNoError) {
  DeviceClock clock;
  clock.WasBefore(kEpoch + 1000, 1200);
  EXPECT_TRUE(clock.Get().known);
  EXPECT_EQ(clock.Get().error, DeviceClock::kUnknown);
}

TEST(DeviceClock, FollowsADrift) {
  DeviceClock clock;
  for (int64_t host = 1'000'000; host < 100'000'000'000; host += 10'000'000) {
    int64_t device = kEpoch + host + host / 50'000;  // 20 ppm
    clock.WasAfter(device, host - 3'000);
    clock.WasBefore(device, host + 2'000);
    DeviceClock::Difference difference = clock.Get();
    ASSERT_TRUE(difference.known);
    ASSERT_LE(std::abs(device + difference.ns - host), 10'000) << host;
  }
}

}  // namespace
}  // namespace ddbg::shim::nccl::plugin
