#include "shim/mpi/nested.h"

#include <sys/mman.h>

#include <utility>

#include "shim/mpi/caller.h"

namespace ddbg::shim::mpi {

ThreadState* EnterNested(void** frame, OuterCall* outer) noexcept {
  ThreadState* t = Inside(frame);
  if (!t || !IsAttached(*t)) return nullptr;
  InFlight& f = t->slot->in_flight;
  if (WhoCalls(frame[1]) != Caller::kProgram) return nullptr;
  outer->guard = t->guard;
  outer->half[0] = f.half[0];
  outer->half[1] = f.half[1];
  outer->request_count = f.request_count;
  for (uint32_t i = 0; i < kMaxOpenRequests; ++i) outer->requests[i] = f.requests[i];
  outer->scratch = std::exchange(t->memory->scratch, nullptr);
  outer->scratch_bytes = std::exchange(t->memory->scratch_bytes, 0);
  EndInFlight(*t);
  t->guard = reinterpret_cast<uintptr_t>(frame);
  return t;
}

void LeaveNested(ThreadState& t, const OuterCall& outer) noexcept {
  InFlight& f = t.slot->in_flight;
  f.half[0] = outer.half[0];
  f.half[1] = outer.half[1];
  f.request_count = outer.request_count;
  for (uint32_t i = 0; i < kMaxOpenRequests; ++i) f.requests[i] = outer.requests[i];
  if (t.memory->scratch) munmap(t.memory->scratch, t.memory->scratch_bytes);
  t.memory->scratch = outer.scratch;
  t.memory->scratch_bytes = outer.scratch_bytes;
  t.guard = outer.guard;
  // Open again, since when it began. The release pairs with the acquire in the collector's seqlock read.
  f.sequence.store(f.sequence.load(std::memory_order_relaxed) | 1, std::memory_order_release);
}

}  // namespace ddbg::shim::mpi
