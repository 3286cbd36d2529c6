// The gloo of this process as ddbg knows it: its loaded copies, its contexts, what is in flight between pairs, and the
// names that PyTorch gives to the stores by which contexts meet. Emptied in a forked child.
#pragma once

#include <atomic>
#include <cstdint>

#include "proto/call.h"
#include "shim/interpose/handle_table.h"
#include "shim/interpose/library_copies.h"
#include "shim/interpose/word.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::gloo {

// A gloo::Context. Known from its constructor on; defined in the trace at its first recorded call.
struct Context {
  uint64_t uid;
  uint32_t id;  // 0: not defined yet
  int32_t rank, size;
  uint32_t next_seq;    // by std::atomic_ref, as in nccl/library.h
  uint64_t tags;        // bit N: tag newest_tag − N has been seen
  uint32_t newest_tag;  // of collectives that are numbered by tags
  uint8_t by_tag;
};

// A message that was posted on a buffer and not waited for yet.
struct Pending {
  uint64_t operation, count;
  uint32_t comm, dtype;
  int32_t peer, tag;
  bool receives;
};

// What a store prefixes keys with, those of the stores below it included. Equal on all members of a process group.
struct StoreName {
  uint64_t hash;
  char text[56];  // as much of it as fits, for people
};

struct Tables {
  HandleTable<Context, 1 << 8> contexts;  // by gloo::Context*
  HandleTable<Pending, 1 << 9> messages;  // by UnboundBuffer*
  HandleTable<StoreName, 1 << 8> stores;  // by PrefixStore*, PyTorch's and gloo's own
  HandleTable<uint32_t, 1 << 8> uses;     // of a name, by its hash; and how many contexts have none, by their size
  HandleTable<uint32_t, 1 << 8> types;    // ids of Datatype definitions, by bytes and function
  HandleTable<uint32_t, 1 << 10> stacks;  // of who gave PyTorch a piece of work, by its address
};

// nullptr: no memory. Made at the first object that is noted; wiped in a forked child.
Tables* NeedTables() noexcept;
// What is there by now; nullptr: nothing.
extern Tables* g_tables;
extern LibraryCopies g_copies;  // functions by Function

// The function that the code at `caller` would have called. Where no copy of the library can be told (a build that
// lacks the name it is known by), any that is loaded; `kept` remembers it. Without one the process ends as the loader
// would have ended it.
void* RealFunction(LibraryCopies& copies, const void* caller, uint32_t index, const char* name,
                   std::atomic<void*>& kept) noexcept;

// Before a record of gloo is written. False: another thread is at it this very moment.
bool AttachSlow(ThreadState& t) noexcept;
extern std::atomic<uint64_t> g_attached;  // recorder token

[[gnu::always_inline]] inline bool Attach(ThreadState& t) noexcept {
  return g_attached.load(std::memory_order_acquire) == t.token || AttachSlow(t);
}

}  // namespace ddbg::shim::gloo
