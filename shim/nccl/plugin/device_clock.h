// What the device's clock (globaltimer, ns) has to do with the host's, without asking the device: a time it tells was
// before the instant at which we read it, and a kernel begins after the call that launched it. The difference lies
// between these two; the closest of each are kept, and give way as far as the clocks may have drifted since.
#pragma once

#include <atomic>
#include <cstdint>

namespace ddbg::shim::nccl::plugin {

class DeviceClock {
 public:
  static constexpr int64_t kUnknown = -1;

  // `device` was before `host`. Any thread: of two at once one may be lost.
  void WasBefore(int64_t device, int64_t host) noexcept {
    Bound& b = high_;
    int64_t seen = host - device, at = b.at.load(std::memory_order_relaxed);
    if (at && seen > b.value.load(std::memory_order_relaxed) + Drift(host - at)) return;
    b.value.store(seen, std::memory_order_relaxed);
    b.at.store(host ? host : 1, std::memory_order_relaxed);
  }

  // `device` was after `host`.
  void WasAfter(int64_t device, int64_t host) noexcept {
    Bound& b = low_;
    int64_t seen = host - device, at = b.at.load(std::memory_order_relaxed);
    if (at && seen < b.value.load(std::memory_order_relaxed) - Drift(host - at)) return;
    b.value.store(seen, std::memory_order_relaxed);
    b.at.store(host ? host : 1, std::memory_order_relaxed);
  }

  // host − device, and how far that may be off; kUnknown: nothing bounds it on one side.
  struct Difference {
    int64_t ns;
    int64_t error;
    bool known;
  };
  Difference Get() const noexcept {
    bool has_high = high_.at.load(std::memory_order_relaxed), has_low = low_.at.load(std::memory_order_relaxed);
    int64_t high = high_.value.load(std::memory_order_relaxed), low = low_.value.load(std::memory_order_relaxed);
    if (!has_high) return {low, kUnknown, has_low};
    if (!has_low) return {high, kUnknown, true};
    // Bounds that cross say that a clock was set or is coarse: the truth is about there.
    int64_t width = high > low ? high - low : low - high;
    return {low + (high - low) / 2, width / 2 + 1, true};
  }

 private:
  struct Bound {
    std::atomic<int64_t> value{0}, at{0};  // at 0: none yet
  };
  static int64_t Drift(int64_t ns) noexcept { return ns > 0 ? ns / 10'000 : 0; }  // 100 ppm

  Bound high_, low_;
};

}  // namespace ddbg::shim::nccl::plugin
