// Communicator identity without messages: uid = hash(parent uid, n-th creation on it, kind, members), equal on all
// members when the program is right (mpi.md 1.5). Every function makes local MPI calls only.
#pragma once

#include "shim/mpi/library.h"

namespace ddbg::shim::mpi {

struct Creation {
  const Comm* parent = nullptr;  // nullptr: unknown
  Word parent_handle = 0;
  uint32_t index = 0;     // n-th on the parent
  const char* kind = "";  // "split", "dup", …
  int32_t color = 0, key = 0, tag = 0;
  bool same_members = false;  // dup and idup: members are the parent's; the new handle may not be usable yet
  bool by_group = false;      // Comm_create_group: not collective over the parent
};

// Registers a new communicator and writes its definition.
void AddCommunicator(ThreadState& t, Word handle, const Creation& creation) noexcept;
void AddWorldAndSelf(ThreadState& t) noexcept;
void RemoveCommunicator(ThreadState& t, Word handle) noexcept;
// After MPI_Comm_set_name: a definition that carries the name alone.
void NameCommunicator(ThreadState& t, Word handle, const char* name) noexcept;

}  // namespace ddbg::shim::mpi
