#include "shim/recorder/clock.h"

#include <time.h>

#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "proto/host_clock.h"

namespace ddbg::shim {
namespace {

// Both ends are read to some 20 ns, so this gives better than 1 ppm.
constexpr int64_t kCalibrationNs = 50'000'000;

int64_t Nanoseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

#if defined(__x86_64__)
// CPUID 80000007h EDX bit 8: the TSC runs at a constant rate in all power states (AMD APM vol. 3, Intel SDM vol. 2).
bool HasInvariantTsc() {
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}
#endif

}  // namespace

ClockKind ChooseClock() {
#if defined(__x86_64__)
  if (HasInvariantTsc()) return ClockKind::kTsc;
#elif defined(__aarch64__)
  return ClockKind::kCntvct;
#endif
  return ClockKind::kMonotonic;
}

const char* ClockName(ClockKind kind) {
  switch (kind) {
    case ClockKind::kTsc: return "tsc";
    case ClockKind::kCntvct: return "cntvct";
    case ClockKind::kMonotonic: break;
  }
  return "clock_gettime";
}

ClockSample TakeClockSample(ClockKind kind) {
  ClockSample best = {};
  uint64_t best_width = ~uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    uint64_t before = ReadTicks(kind);
    int64_t monotonic = Nanoseconds(CLOCK_MONOTONIC);
    uint64_t after = ReadTicks(kind);
    if (after - before >= best_width) continue;
    best_width = after - before;
    best.ticks = kind == ClockKind::kMonotonic ? static_cast<uint64_t>(monotonic) : before + (after - before) / 2;
    best.monotonic_ns = monotonic;
  }
  best.realtime_ns = Nanoseconds(CLOCK_REALTIME) - (Nanoseconds(CLOCK_MONOTONIC) - best.monotonic_ns);
  best.monotonic_ns -= MonotonicOffsetNs();
  return best;
}

bool Calibrate(RegionHeader* header) {
  if (header->clock_ns_per_tick_bits.load(std::memory_order_relaxed)) return true;
  if (header->clock_kind == ClockKind::kMonotonic) {
    header->clock_ns_per_tick_bits.store(std::bit_cast<uint64_t>(1.0), std::memory_order_relaxed);
    return true;
  }
  ClockSample now = TakeClockSample(header->clock_kind);
  int64_t ns = now.monotonic_ns - header->clock_start.monotonic_ns;
  uint64_t ticks = now.ticks - header->clock_start.ticks;
  if (ns < kCalibrationNs || ticks == 0) return false;
  double ns_per_tick = static_cast<double>(ns) / static_cast<double>(ticks);
  header->clock_ns_per_tick_bits.store(std::bit_cast<uint64_t>(ns_per_tick), std::memory_order_relaxed);
  return true;
}

}  // namespace ddbg::shim
