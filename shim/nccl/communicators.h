// Communicator identity without messages, equal on all ranks when the program is right (nccl-cuda.md B6):
//   from unique ids   hash of their bytes, and how often this process had used them as this rank before
//   InitAll           this process and the time: all its members are of one process
//   split             parent's uid, how-many-th creation on it, colour
//   shrink            parent's uid, the ranks left out, how-many-th of that kind
//   grow              parent's uid, how-many-th creation on it; who joins has the id alone
// The number of ranks is no part of it: ranks that were told different sizes are to meet in one group.
//
// A communicator is defined before the call that makes it, since that waits for all ranks and may never return, and
// once more when it is ready.
#pragma once

#include "shim/nccl/library.h"

namespace ddbg::shim::nccl {

// What a call is about to make.
struct NewComm {
  Comm comm = {};
  const char* kind = "nccl";
  uint64_t parent_uid = 0;
  uint32_t parent = 0, creation_index = 0;
  int32_t color = 0, key = 0;
  const void* config = nullptr;
  const UniqueId* ids = nullptr;
  uint32_t id_count = 0;
  uint32_t id_use = 0;
  const int32_t* excluded = nullptr;
  uint32_t excluded_count = 0;
};

uint64_t HashOf(const UniqueId& id) noexcept;

// Fill `made` and write its definition.
void DescribeInit(ThreadState& t, int32_t ranks, int32_t rank, const UniqueId* ids, uint32_t id_count,
                  const void* config, NewComm* made) noexcept;
void DescribeInitAll(ThreadState& t, uint64_t uid, int32_t ranks, int32_t rank, int32_t device, NewComm* made) noexcept;
void DescribeSplit(ThreadState& t, Comm& parent, int32_t color, int32_t key, const void* config,
                   NewComm* made) noexcept;
void DescribeShrink(ThreadState& t, Comm& parent, const int32_t* excluded, int32_t count, const void* config,
                    NewComm* made) noexcept;
// Of a rank that was in `parent`. One that joins knows the id alone: DescribeInit.
void DescribeGrow(ThreadState& t, Comm& parent, int32_t ranks, const UniqueId* id, const void* config,
                  NewComm* made) noexcept;

// It exists under `handle` from now on.
void AddCommunicator(ThreadState& t, Word handle, const NewComm& made) noexcept;
// It was not made.
void DropCommunicator(ThreadState& t, uint32_t id) noexcept;
// Size, rank and device, now that it is ready. May be called again; local calls of NCCL only.
void Complete(ThreadState& t, Word handle, Comm& comm) noexcept;

// Of an InitAll: no other process and no other call comes to it.
uint64_t UidOfOwn() noexcept;

}  // namespace ddbg::shim::nccl
