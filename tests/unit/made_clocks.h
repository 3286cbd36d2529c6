// Made-up hosts whose clocks are known to be wrong, and by how much.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace ddbg::test {

// The clock of a host: where it stands at true 0, how fast it is, and when it was set forward.
struct MadeClock {
  double offset_ns = 0, ppm = 0;
  double step_at_ns = INFINITY, step_ns = 0;
  double slew_from_ns = INFINITY, slew_ppm = 0;

  int64_t At(double true_ns) const {
    double own = offset_ns + true_ns * (1 + ppm * 1e-6);
    if (true_ns >= step_at_ns) own += step_ns;
    if (true_ns > slew_from_ns) own += (true_ns - slew_from_ns) * slew_ppm * 1e-6;
    return std::llround(own);
  }
};

// How long things take between hosts: a floor, which may differ by direction, and a tail above it.
class MadeDelays {
 public:
  explicit MadeDelays(uint64_t seed) : random_(seed) {}

  double Uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  double Latency(double floor_ns) {
    double tail = std::exponential_distribution<double>(1 / 4000.0)(random_);
    return floor_ns + tail + (Uniform(0, 1) < 0.02 ? Uniform(0, 400'000) : 0);
  }
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
};

}  // namespace ddbg::test
