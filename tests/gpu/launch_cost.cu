// launch_cost: ns of host time a launch of an empty kernel takes: the median of batches.
#include <algorithm>
#include <chrono>
#include <vector>

#include "check.h"

__global__ void Nothing() {}

int main() {
  constexpr int kBatches = 40, kLaunches = 200;  // a batch fits into the launch queue
  using Clock = std::chrono::steady_clock;
  std::vector<double> costs;
  for (int batch = 0; batch < kBatches; ++batch) {
    CHECK(cudaDeviceSynchronize());
    Clock::time_point begin = Clock::now();
    for (int i = 0; i < kLaunches; ++i) Nothing<<<1, 32>>>();
    costs.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kLaunches);
  }
  CHECK(cudaDeviceSynchronize());
  std::sort(costs.begin(), costs.end());
  printf("ns %.0f\n", costs[costs.size() / 2]);
  return 0;
}
