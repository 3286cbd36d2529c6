// The MPI of this process as ddbg knows it: tables of communicators, datatypes, operators and pending requests.
// Made when MPI is first seen initialised; emptied and filled anew in a forked child that records, and when a program
// that has unloaded its MPI loads one again.
#pragma once

#include <atomic>
#include <cstdint>

#include "proto/call.h"
#include "shim/interpose/handle_table.h"
#include "shim/mpi/abi.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::mpi {

struct Comm {
  uint64_t uid;
  uint32_t id;
  uint32_t size;
  int32_t rank;
  uint32_t entries;   // of an array with one for each member; 0: not known, as of inter-communicators, where the two
                      // sides differ
  uint32_t next_seq;  // by std::atomic_ref: values move with the table's plain copies
  uint32_t next_creation;
};

struct Datatype {
  uint32_t id;
};

// A request that has not been completed, or a persistent one.
struct Pending {
  uint64_t operation;  // 0: none (inactive persistent request)
  uint64_t count;
  uint32_t comm, dtype;
  int32_t peer, tag;  // as posted, or as matched for a message
  uint16_t call;      // that posted it
  uint8_t receives;   // peer and tag may have to be read from a status
  uint8_t persistent;
  uint8_t cancelled;
  uint8_t collective;  // persistent: starts are counted on the communicator that stands under the request's handle
};

struct Tables {
  // Windows, files and persistent collectives too: their handles are no communicator's in any ABI.
  HandleTable<Comm, 1 << 15> comms;
  HandleTable<Datatype, 1 << 13> dtypes;
  HandleTable<uint8_t, 1 << 6> ops;  // ReduceOp
  HandleTable<Pending, 1 << 14> requests;
  HandleTable<uint32_t, 1 << 10> groups;   // ids of definitions of kind "group", by handle and by members (GroupId)
  HandleTable<Pending, 1 << 10> messages;  // of Mprobe; `operation` is the message's number
  uint32_t world = 0;                      // how many MPI_COMM_WORLDs this process had before
  // Members are named by their ranks in this group: MPI_COMM_WORLD's, or that of the process set mpi://WORLD where a
  // program has sessions only. 0: nobody can be named.
  Word world_group = 0, group_session = 0;  // group_session: that the group is of, if it is a session's
  uint32_t sessions = 0;                    // that are open
  bool has_world = false;                   // MPI_Init was called
};

extern Tables* g_tables;                  // nullptr: not attached
extern std::atomic<uint64_t> g_attached;  // recorder token it is attached for

// The functions behind MPI_X, then those behind PMPI_X, by MpiCall; nullptr: to be looked up. Hidden: no detour by the
// global offset table on the hot path.
extern std::atomic<void*> g_real[2][static_cast<size_t>(MpiCall::kCount)] [[gnu::visibility("hidden")]];

// After MPI_Init returned, or before the first call of a thread that finds MPI running. `thread_level`: -1 unknown.
void Attach(ThreadState& t, int thread_level) noexcept;
void AttachIfInitialized(ThreadState& t) noexcept;
// After MPI_Session_init: there may be no world.
void AttachSession(ThreadState& t, const void* session) noexcept;
// After MPI_Session_finalize.
void LeaveSession() noexcept;

// After MPI_Finalize: the program may unload the library now and load it, or another, at another place.
void ForgetLibrary() noexcept;

[[gnu::always_inline]] inline bool IsAttached(const ThreadState& t) {
  return g_attached.load(std::memory_order_acquire) == t.token;
}

}  // namespace ddbg::shim::mpi
