// Streams as ids: one for each stream of the process, defined in the trace before its first use.
//
// A handle is an address that may be used again after the stream is destroyed, or 0 and 1 for the legacy stream of the
// current device, or 2 for the calling thread's own stream on it (0 too, in calls by a _ptsz or _ptds name).
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/cuda/abi.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::cuda {

// Id of the stream that `handle` stands for on this thread; 0: no room. `device`: of a handle that names no device by
// itself, and for one seen first here; -1: the thread's current one.
uint32_t StreamId(ThreadState& t, uint64_t handle, bool per_thread, int32_t device = -1) noexcept;

// A stream was made. `flags` as cudaStreamCreateWithFlags has them.
uint32_t AddStream(ThreadState& t, uint64_t handle, uint32_t flags, int32_t priority) noexcept;
// It is about to be destroyed: the handle may come back as another one's as soon as it is.
void ForgetStream(uint64_t handle) noexcept;
// It was not destroyed: `handle` stands for `id` again.
void KeepStream(ThreadState& t, uint64_t handle, uint32_t id) noexcept;

// Captures into graphs that the program has begun and not ended, as far as calls of the runtime show: those begun by
// the driver's cuStreamBeginCapture, or by a runtime that is linked statically, do not.
extern std::atomic<int32_t> g_captures [[gnu::visibility("hidden")]];
bool IsCapturingSlow(uint64_t handle) noexcept;
// Does what is enqueued on the stream go into a graph? The legacy stream's never does. Asked only while there is a
// capture.
[[gnu::always_inline]] inline bool IsCapturing(uint64_t handle) noexcept {
  return g_captures.load(std::memory_order_relaxed) > 0 && IsCapturingSlow(handle);
}

// Writes the definition of a device once; bus id and name as far as they can be had. -1: does nothing.
void DefineDevice(ThreadState& t, int32_t device) noexcept;

}  // namespace ddbg::shim::cuda
