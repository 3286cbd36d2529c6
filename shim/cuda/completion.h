// When the device does what calls have enqueued, for those who ask: DDBG_KERNEL_TIMING for kernels, DDBG_GPU_COMPLETION
// for calls of NCCL. Both are off by default, since each event is one more operation on a stream of the program's.
//
// The thread that makes a call records events of a pool around what it enqueues: two with times round a kernel, one
// without after a call of NCCL. A thread of ours, which exists only if asked for, polls them and writes a completion
// record for each (FORMAT.md). Nothing is recorded while the program captures a graph anywhere: an event of ours in a
// capture would become a part of the graph, and making one may break it.
//
// A device's clock is brought to the host's by an event on a stream of ours, recorded and seen again within a bracket
// of the host's clock, which is the error told.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/interpose/library_copies.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::cuda {

struct TimedOperation;

extern std::atomic<uint32_t> g_completion_wanted [[gnu::visibility("hidden")]];
inline constexpr uint32_t kWantsKernels = 1, kWantsNccl = 2;

// Reads the switches; on the application's thread, once a recorder.
void StartCompletion(ThreadState& t) noexcept;
// A kernel has got an id: is its time wanted?
void NoteKernelName(uint32_t id, const char* name, uint32_t size) noexcept;

TimedOperation* BeginKernelSlow(ThreadState& t, LibraryCopy& copy, uint64_t stream, uint32_t kernel,
                                uint64_t* operation) noexcept;
void EndKernelSlow(LibraryCopy& copy, TimedOperation* timed, bool enqueued) noexcept;

// Before a launch; nullptr: its time is not taken. Else `operation` is set, and EndKernel follows in any case.
[[gnu::always_inline]] inline TimedOperation* BeginKernel(ThreadState& t, LibraryCopy* copy, uint64_t stream,
                                                          uint32_t kernel, uint64_t* operation) noexcept {
  if (!(g_completion_wanted.load(std::memory_order_relaxed) & kWantsKernels)) [[likely]]
    return nullptr;
  return copy ? BeginKernelSlow(t, *copy, stream, kernel, operation) : nullptr;
}
[[gnu::always_inline]] inline void EndKernel(LibraryCopy* copy, TimedOperation* timed, bool enqueued) noexcept {
  if (timed) [[unlikely]]
    EndKernelSlow(*copy, timed, enqueued);
}

void NoteEnqueuedSlow(ThreadState& t, uint64_t stream, uint64_t operation) noexcept;
// A call of NCCL has enqueued `operation` (aux of its record) on the stream; of a group, after its end. Not for a
// capturing stream.
[[gnu::always_inline]] inline void NoteEnqueued(ThreadState& t, uint64_t stream, uint64_t operation) noexcept {
  if (g_completion_wanted.load(std::memory_order_relaxed) & kWantsNccl) [[unlikely]]
    NoteEnqueuedSlow(t, stream, operation);
}

}  // namespace ddbg::shim::cuda
