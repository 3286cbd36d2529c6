#include "shim/mpi/callback.h"

#include "shim/mpi/caller.h"

namespace ddbg::shim::mpi {
namespace {

// The call inside of which a callback calls. A longjmp may leave it behind: it is of use while `inner` is the guard.
struct Outer {
  uintptr_t guard, inner;
  uint32_t request_count;
  uint64_t requests[kMaxOpenRequests];
  Record half[2];
};

constinit thread_local Outer g_outer [[gnu::tls_model("initial-exec")]] = {};

}  // namespace

ThreadState* EnterFromCallback(void* frame, bool many) noexcept {
  ThreadState* t = Inside(frame);
  if (!t || WhoCalls(static_cast<void**>(frame)[1]) != Caller::kProgram) return nullptr;
  Outer& outer = g_outer;
  if (outer.inner && outer.inner == t->guard) return nullptr;
  InFlight& f = t->slot->in_flight;
  bool open = f.sequence.load(std::memory_order_relaxed) & 1;
  if (!open || (many && f.request_count)) return nullptr;
  outer.guard = t->guard;
  outer.inner = reinterpret_cast<uintptr_t>(frame);
  outer.request_count = f.request_count;
  for (uint32_t i = 0; i < kMaxOpenRequests; ++i) outer.requests[i] = f.requests[i];
  for (int i = 0; i < 2; ++i) outer.half[i] = f.half[i];
  EndInFlight(*t);
  f.half[1].call = 0;
  t->guard = outer.inner;
  return t;
}

void LeaveCallback(ThreadState& t) noexcept {
  Outer& outer = g_outer;
  InFlight& f = t.slot->in_flight;
  f.request_count = outer.request_count;
  for (uint32_t i = 0; i < kMaxOpenRequests; ++i) f.requests[i] = outer.requests[i];
  for (int i = 0; i < 2; ++i) f.half[i] = outer.half[i];
  f.sequence.store(f.sequence.load(std::memory_order_relaxed) | 1, std::memory_order_release);
  t.guard = outer.guard;
  outer.inner = 0;
}

}  // namespace ddbg::shim::mpi
