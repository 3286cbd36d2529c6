// What the trace says of CUDA itself, written when the first call of CUDA or NCCL comes: versions, and which levels are
// seen. The tables of this family are made then, and emptied in a forked child that records.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/recorder/recorder.h"

namespace ddbg::shim::cuda {

extern std::atomic<uint64_t> g_attached [[gnu::visibility("hidden")]];     // recorder token
extern std::atomic<uint64_t> g_driver_told [[gnu::visibility("hidden")]];  // the same

// False: no memory, or another thread is at it this very moment. It is then called again.
bool AttachSlow(ThreadState& t) noexcept;
void TellDriverSlow(ThreadState& t) noexcept;

[[gnu::always_inline]] inline bool Attach(ThreadState& t) noexcept {
  return g_attached.load(std::memory_order_acquire) == t.token || AttachSlow(t);
}

// The driver is loaded by the first call of the runtime: its version is told after that.
[[gnu::always_inline]] inline void TellDriver(ThreadState& t) noexcept {
  if (g_driver_told.load(std::memory_order_relaxed) != t.token) [[unlikely]]
    TellDriverSlow(t);
}

}  // namespace ddbg::shim::cuda
