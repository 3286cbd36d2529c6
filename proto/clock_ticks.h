// Reads the clock a region's times are in. Lock-free, no system call for kTsc and kCntvct.
#pragma once

#include <time.h>

#include <cstdint>

#include "proto/ring_layout.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ddbg {

inline int64_t ClockNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline int64_t MonotonicNs() { return ClockNs(CLOCK_MONOTONIC); }
inline int64_t RealtimeNs() { return ClockNs(CLOCK_REALTIME); }

// Ticks of `kind`; ns of CLOCK_MONOTONIC for kMonotonic and for a counter that this machine does not have.
inline uint64_t ReadTicks(ClockKind kind) {
#if defined(__x86_64__)
  if (kind == ClockKind::kTsc) return __rdtsc();
#elif defined(__aarch64__)
  if (kind == ClockKind::kCntvct) {
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
  }
#endif
  (void)kind;
  return static_cast<uint64_t>(MonotonicNs());
}

}  // namespace ddbg
