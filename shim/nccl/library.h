// The NCCL of this process as ddbg knows it: its loaded copies, its communicators and reduction operators. Made at the
// first call of NCCL, emptied in a forked child that records.
#pragma once

#include <atomic>
#include <cstdint>

#include "proto/call.h"
#include "shim/interpose/handle_table.h"
#include "shim/interpose/library_copies.h"
#include "shim/interpose/word.h"
#include "shim/nccl/abi.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::nccl {

struct Comm {
  uint64_t uid;
  LibraryCopy* copy;  // that made it, and that every call on it goes to
  uint32_t id;
  uint32_t size;      // 0: not known yet (a split one before it is ready)
  int32_t rank;       // -1: not known yet
  int32_t device;     // CUDA ordinal; -1: not known
  uint32_t next_seq;  // by std::atomic_ref: values move with the table's plain copies
  uint32_t next_creation;
  int32_t async_state;  // last seen
  uint8_t blocking;
  uint8_t described;  // size, rank and device are in the trace
};

struct Tables {
  HandleTable<Comm, 1 << 10> comms;       // by ncclComm_t
  HandleTable<uint32_t, 1 << 8> id_uses;  // of a unique id by one rank
  HandleTable<uint8_t, 1 << 6> own_ops;   // by (communicator, number): made by ncclRedOpCreatePreMulSum
  uint32_t type_ids[kTypeCount];          // of Datatype definitions
};

extern Tables* g_tables;        // nullptr before the first call
extern LibraryCopies g_copies;  // functions by NcclCall

// Before anything of g_tables is used. False: no memory, or another thread is at it this very moment.
bool AttachSlow(ThreadState& t) noexcept;
extern std::atomic<uint64_t> g_attached;  // recorder token

[[gnu::always_inline]] inline bool Attach(ThreadState& t) noexcept {
  return g_attached.load(std::memory_order_acquire) == t.token || AttachSlow(t);
}

// Wrappers of ours have seen calls of this process's NCCL.
inline bool HasWrappers(const ThreadState& t) noexcept { return g_attached.load(std::memory_order_relaxed) == t.token; }

// Functions that ddbg itself calls, of a copy: local ones only. False: it did not say.
bool AskCount(const LibraryCopy& copy, Word comm, int32_t* count) noexcept;
bool AskRank(const LibraryCopy& copy, Word comm, int32_t* rank) noexcept;
bool AskDevice(const LibraryCopy& copy, Word comm, int32_t* device) noexcept;

}  // namespace ddbg::shim::nccl
