#include "collector/node/clock_steps.h"

#include <time.h>

#include <cstdlib>

#include "collector/packets.h"
#include "proto/clock_ticks.h"
#include "proto/host_clock.h"

namespace ddbg::collector {
namespace {

constexpr int64_t kSmallestNs = 10'000'000;  // reading the clocks takes time itself, more where we are preempted

}  // namespace

// The tightest of a few tries.
ClockReadings ClockReadings::Now() {
  ClockReadings best{};
  int64_t best_width = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    int64_t before = HostMonotonicNs();
    ClockReadings now{before, RealtimeNs(), ClockNs(CLOCK_BOOTTIME)};
    int64_t width = HostMonotonicNs() - before;
    if (width >= best_width) continue;
    best_width = width;
    best = now;
  }
  return best;
}

std::optional<ClockStepSeen> ClockSteps::Look(const ClockReadings& now) {
  int64_t realtime_ahead = now.realtime_ns - now.monotonic_ns, boottime_ahead = now.boottime_ns - now.monotonic_ns;
  int64_t step = realtime_ahead - realtime_ahead_ns_, suspended = boottime_ahead - boottime_ahead_ns_;
  bool seen = started_ && std::llabs(step) >= kSmallestNs;
  if (seen || !started_) realtime_ahead_ns_ = realtime_ahead;  // small differences add up to a step, too
  if (seen || !started_) boottime_ahead_ns_ = boottime_ahead;
  started_ = true;
  if (!seen) return std::nullopt;
  return ClockStepSeen{now.monotonic_ns, step, suspended >= kSmallestNs ? suspended : 0};
}

void AppendClockStep(const ClockStepSeen& step, std::string* chunk) {
  AppendPacket(kClockStepPacket, chunk, [&](protozero::pbf_writer& packet) {
    packet.add_sint64(1, step.t_ns);
    packet.add_sint64(2, step.step_ns);
    if (step.suspended_ns != 0) packet.add_sint64(3, step.suspended_ns);
  });
}

}  // namespace ddbg::collector
