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
  bool foreign = false;       // joins this world and another: the other side derives an identity of its own
  const char* text = "";      // the tag of Comm_create_from_group
};

// Finds the processes that members are named by (Tables::world_group). `session`: 0 if MPI_Init was called.
void FindWorldGroup(Word session) noexcept;
void ReleaseWorldGroup() noexcept;
// Registers a new communicator and writes its definition.
void AddCommunicator(ThreadState& t, Word handle, const Creation& creation) noexcept;
void AddWorldAndSelf(ThreadState& t) noexcept;
// A window, a file or a persistent collective, under its handle: members are the parent's, sequence numbers its own.
// `kind` is "window", "file" or "persistent". Returns its id, 0 if there is no room.
uint32_t AddShared(ThreadState& t, Word handle, const Creation& creation, const char* name) noexcept;
// Whom a communicator over a group is made of, before it is there: a definition of the kind "group", without a uid.
// Returns its id; 0: nobody can be named.
uint32_t AddGroup(ThreadState& t, Word group, const Comm* parent) noexcept;
// The same for a group that is named again and again: defined once, and then known by its handle until ForgetGroup.
uint32_t GroupId(ThreadState& t, Word group, const Comm* parent) noexcept;
void ForgetGroup(Word group) noexcept;
void RemoveCommunicator(ThreadState& t, Word handle) noexcept;
// After MPI_Comm_set_name: a definition that carries the name alone.
void NameCommunicator(ThreadState& t, Word handle, const char* name) noexcept;

}  // namespace ddbg::shim::mpi
