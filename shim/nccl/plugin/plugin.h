// libddbg.so as NCCL's profiler plugin: what it makes of the events, whatever the version.
//
// NCCL tells, on the thread that called it, when the program enqueues (CollApi, P2pApi, from v5 on) and what it made of
// it (Coll, P2p: algorithm, protocol, channels); and on its proxy thread, from the times that the kernel left in pinned
// memory, when each channel of it began and ended (KernelCh). Nothing of ddbg's goes onto a stream.
//
//   event            record
//   Coll, P2p, Ce    of kind detail: how the operation is carried out
//   KernelCh         DDBG_NCCL_PLUGIN=times: a completion of the operation, when all channels are over
//   CollApi; P2p;    of the call, if no wrapper of ours sees it (NCCL is linked statically)
//   Coll before v5
//
// Which operation: a wrapper of ours is around the call that the event comes in, so that its record in flight says it;
// from v5 on the task's parent is the event of that call, and its handle is the operation's number. Before v5 that
// holds for what is called alone; of a group of several only the communicator is known, and NCCL's own count of each
// function on it.
//
// Called by the program's threads and NCCL's own: no lock, no allocation, no system call but for what is new
// (a communicator, a plan, a thread).
#pragma once

#include "shim/nccl/plugin/device_clock.h"
#include "shim/nccl/plugin/event_ring.h"
#include "shim/nccl/plugin/told.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::nccl::plugin {

// One of NCCL's communicators. Never unmapped: events may come late.
struct Context {
  std::atomic<uint32_t> id;    // 0: free; place and how-many-th use of it
  std::atomic<uint32_t> comm;  // of its Communicator definition; 0: not known yet
  std::atomic<uint32_t> next_seq;
  uint32_t uses;
  uint64_t hash;  // NCCL's
  int32_t version;
  int32_t ranks, rank;
  bool own;                  // there is a recorder
  const void* other_plugin;  // its ncclProfiler_vN; nullptr: none
  void* other;               // its context
  int32_t* mask;             // NCCL's
  DeviceClock clock;
};

// What an event of this type is delivered for, as in NCCL (profiler.cc, 2.29): also where only something below it was
// asked for.
constexpr uint32_t DeliveredFor(uint32_t type) {
  constexpr uint32_t kSteps = kProxyStep | kNetPlugin, kOps = kProxyOp | kSteps, kCopies = kCeColl | kCeSync | kCeBatch;
  switch (type) {
    case kGroup: return kGroup | kColl | kP2p | kOps | kKernelCh;
    case kColl: return kColl | kOps | kKernelCh;
    case kP2p: return kP2p | kOps | kKernelCh;
    case kProxyOp: return kOps;
    case kProxyStep: return kSteps;
    case kGroupApi: return ~uint32_t{kProxyCtrl};
    case kCollApi: return kCollApi | kColl | kOps | kKernelCh | kCopies;
    case kP2pApi: return kP2pApi | kP2p | kOps | kKernelCh;
    default: return type;
  }
}

// The mask of the other plugin, which may change it at any time.
extern std::atomic<int32_t> g_other_mask;
inline int32_t* OtherMask() { return reinterpret_cast<int32_t*>(&g_other_mask); }
inline bool OtherWants(const Context& c, uint32_t type) {
  uint32_t mask = static_cast<uint32_t>(g_other_mask.load(std::memory_order_relaxed));
  return c.other_plugin && (mask & DeliveredFor(type));
}

// What ddbg itself asks NCCL for.
int32_t OwnMask(int version) noexcept;

// A new communicator; nullptr: ddbg has nothing to do with it. `frame`: of the exported function, as for Enter.
Context* Begin(void* frame, int version, uint64_t hash, const char* name, int32_t ranks, int32_t rank) noexcept;
void End(Context& c) noexcept;

// NCCL's mask follows what the other plugin asks for.
void SetMask(const Context& c) noexcept;

// Ours of an event; `event`: memory to remember it in is needed for another plugin's sake (then it is given, not yet
// published), or for ours. The handle for NCCL.
void* Start(void* frame, Context& c, const Told& told, bool for_other, Event** event, uint64_t* ticket) noexcept;

// Of a handle; nullptr: it needs none, or is of long ago.
Event* Find(void* handle) noexcept;
Context* ContextOf(const Event& event) noexcept;  // nullptr: that communicator is gone

void RecordKernelStop(Event& event, uint64_t timer) noexcept;
// After it no event follows by this handle.
void Stop(void* frame, Event& event) noexcept;

}  // namespace ddbg::shim::nccl::plugin
