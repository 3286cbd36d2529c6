// What the parts of a wrapper share: the call's arguments by role, and what is kept from before the real call until
// after it. Everything is decided at compile time by the row in calls_mpi.def.
#pragma once

#include "proto/call.h"
#include "shim/interpose/roles.h"
#include "shim/mpi/communicators.h"
#include "shim/mpi/library.h"
#include "shim/mpi/requests.h"

namespace ddbg::shim {
#define DDBG_MPI(name, kind, shape, ...) DDBG_ROLES(MpiCall::name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_mpi.def"
#undef DDBG_MPI
}  // namespace ddbg::shim

namespace ddbg::shim::mpi {

// What a wrapper keeps from before the real call until after it. Trivial: a longjmp may skip the end.
struct Moment {
  Word* args;
  Comm* comm;
  Word comm_handle;
  Word handle;      // of the request or message that the call is about
  Pending pending;  // what it stands for
  Completions all;  // the same for arrays
  uint32_t creation_index;
  bool attached;   // the fields above were filled
  bool looked_up;  // `all` is valid
  alignas(8) char status[40];
};

// Record::tag of a lock.
inline constexpr int32_t kLockExclusive = 1, kLockShared = 2;

// Of what had MPI_MODE_NOCHECK: Record::aux of a lock, Record::tag of a post or start.
inline constexpr int32_t kUnchecked = 1;

// Which argument of these holds what the program promises; -1: none.
template <MpiCall kCall>
inline constexpr int kAssertAt = kCall == MpiCall::Win_lock                                  ? 2
                                 : kCall == MpiCall::Win_post || kCall == MpiCall::Win_start ? 1
                                 : kCall == MpiCall::Win_lock_all                            ? 0
                                                                                             : -1;

// Tag bits in Record::aux of a blocking receive or probe.
inline constexpr uint64_t kPostedAnySource = 1, kPostedAnyTag = 2;

// Something with a communicator definition of its own, counted on the communicator that it is made from.
template <MpiCall kCall>
inline constexpr bool kMakesComm =
    kInfo<kCall>.kind == CallKind::CommCreate || kInfo<kCall>.kind == CallKind::Spawn ||
    kInfo<kCall>.kind == CallKind::Connect || kInfo<kCall>.kind == CallKind::CommParent ||
    kInfo<kCall>.kind == CallKind::WinCreate || kInfo<kCall>.kind == CallKind::FileOpen ||
    kInfo<kCall>.kind == CallKind::CollectiveInit;

template <MpiCall kCall, Role kRole>
[[gnu::always_inline]] inline Word Arg(const Moment& m) {
  static_assert(Has<kCall>(kRole));
  return m.args[IndexOf<kCall>(kRole)];
}

// Of MPI 4's large-count functions a count is an MPI_Count, else an int, kept with its sign.
template <MpiCall kCall>
inline constexpr bool kLarge = kInfo<kCall>.name.ends_with("_c");

template <MpiCall kCall, Role kRole>
[[gnu::always_inline]] inline uint64_t Count(const Moment& m) {
  Word word = Arg<kCall, kRole>(m);
  if constexpr (kLarge<kCall> || kRole == Role::LargeCount || kRole == Role::Bytes) return static_cast<uint64_t>(word);
  return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(word)));
}

// Where the outcome must be read but the caller ignores it, ours is passed instead.
template <MpiCall kCall>
[[gnu::always_inline]] inline void OwnStatus(Moment& m) {
  Word& status = m.args[IndexOf<kCall>(Role::Status)];
  if (status == g_abi.status_ignore) status = Address(m.status);
}

inline bool IsWild(int32_t peer, int32_t tag) { return peer == kAnySource || tag == kAnyTag; }

inline const void* StatusAt(Word statuses, int index) {
  if (statuses == g_abi.statuses_ignore) return nullptr;
  return reinterpret_cast<const char*>(statuses) + static_cast<size_t>(index) * g_abi.status_bytes;
}

template <MpiCall kCall>
inline const void* StatusOf(const Moment& m) {
  Word status = Arg<kCall, Role::Status>(m);
  return status == g_abi.status_ignore ? nullptr : reinterpret_cast<const void*>(status);
}

template <MpiCall kCall>
inline bool FlagIsSet(const Moment& m) {
  if constexpr (Has<kCall>(Role::Flag)) return *reinterpret_cast<const int*>(Arg<kCall, Role::Flag>(m)) != 0;
  return true;
}

// What a request that was just given back stands for.
template <MpiCall kCall>
inline Pending PendingOf(const Record& r) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  Pending pending = {};
  pending.count = r.count;
  pending.comm = r.comm;
  pending.dtype = r.dtype;
  pending.peer = r.peer;
  pending.tag = r.tag;
  pending.call = r.call;
  pending.receives = kind == CallKind::Recv || kind == CallKind::RecvInit || kind == CallKind::Sendrecv;
  return pending;
}

}  // namespace ddbg::shim::mpi
