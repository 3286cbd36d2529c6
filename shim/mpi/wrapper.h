// One wrapper for every MPI function, made from its row in calls_mpi.def: what to do with each argument is decided at
// compile time by its role. Word-typed: every parameter is 64 bits, narrowed by role (mpi.md 1.2).
//
// Before the real function: the record is filled in place in the in-flight slot. After it: the record goes into the
// ring, with what only the outcome tells (matched source, new communicator, completed operations).
#pragma once

#include <utility>

#include "proto/call.h"
#include "shim/interpose/real_function.h"
#include "shim/interpose/roles.h"
#include "shim/mpi/callback.h"
#include "shim/mpi/communicators.h"
#include "shim/mpi/datatypes.h"
#include "shim/mpi/library.h"
#include "shim/mpi/requests.h"
#include "shim/recorder/recorder.h"
#include "shim/recorder/stacks.h"

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

// Tag bits in Record::aux of a blocking receive or probe.
inline constexpr uint64_t kPostedAnySource = 1, kPostedAnyTag = 2;

template <MpiCall kCall, Role kRole>
[[gnu::always_inline]] inline Word Arg(const Moment& m) {
  static_assert(Has<kCall>(kRole));
  return m.args[IndexOf<kCall>(kRole)];
}

template <MpiCall kCall>
[[gnu::always_inline]] inline void FillComm(Record& r, Moment& m) {
  if constexpr (Has<kCall>(Role::Comm)) {
    m.comm_handle = g_abi.Handle(Arg<kCall, Role::Comm>(m));
    m.comm = g_tables->comms.Find(static_cast<uint64_t>(m.comm_handle));
    if (!m.comm) return;
    r.comm = m.comm->id;
    // A communicator made over a group is not the parent's business: only the group's members call.
    if constexpr (IsCollective(kInfo<kCall>.kind) && kInfo<kCall>.shape != CallShape::CreateGroup)
      r.seq = std::atomic_ref(m.comm->next_seq).fetch_add(1, std::memory_order_relaxed);
  }
}

template <MpiCall kCall>
[[gnu::always_inline]] inline void FillArguments(Record& r, Moment& m) {
  FillComm<kCall>(r, m);
  if constexpr (Has<kCall>(Role::Count))
    r.count = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(Arg<kCall, Role::Count>(m))));
  if constexpr (Has<kCall>(Role::Type)) r.dtype = TypeId(g_abi.Handle(Arg<kCall, Role::Type>(m)));
  if constexpr (Has<kCall>(Role::Root)) r.peer = g_abi.Peer(Arg<kCall, Role::Root>(m));
  if constexpr (Has<kCall>(Role::Dest)) r.peer = g_abi.Peer(Arg<kCall, Role::Dest>(m));
  if constexpr (Has<kCall>(Role::Source)) r.peer = g_abi.Peer(Arg<kCall, Role::Source>(m));
  if constexpr (Has<kCall>(Role::Tag)) r.tag = g_abi.Tag(Arg<kCall, Role::Tag>(m));
  if constexpr (Has<kCall>(Role::Code)) r.tag = static_cast<int32_t>(Arg<kCall, Role::Code>(m));
  if constexpr (Has<kCall>(Role::Op)) {
    uint8_t* op = g_tables->ops.Find(static_cast<uint64_t>(g_abi.Handle(Arg<kCall, Role::Op>(m))));
    r.op = op ? *op : static_cast<uint8_t>(kOpUser);
  }
  if constexpr (Has<kCall>(Role::SendBuf))
    if (Arg<kCall, Role::SendBuf>(m) == g_abi.in_place) r.flags |= kFlagInPlace;
  if constexpr (Has<kCall>(Role::RecvBuf))
    if (Arg<kCall, Role::RecvBuf>(m) == g_abi.in_place) r.flags |= kFlagInPlace;
  // A non-blocking collective's aux is its operation number; its receive side goes unrecorded.
  if constexpr (kInfo<kCall>.kind == CallKind::Collective && Has<kCall>(Role::RecvCount) && !Has<kCall>(Role::Request))
    r.aux = RecvSide::Pack(static_cast<uint32_t>(Arg<kCall, Role::RecvCount>(m)),
                           TypeId(g_abi.Handle(Arg<kCall, Role::RecvType>(m))));
}

// Where the outcome must be read but the caller ignores it, ours is passed instead.
template <MpiCall kCall>
[[gnu::always_inline]] inline void OwnStatus(Moment& m) {
  Word& status = m.args[IndexOf<kCall>(Role::Status)];
  if (status == g_abi.status_ignore) status = Address(m.status);
}

inline bool IsWild(int32_t peer, int32_t tag) { return peer == kAnySource || tag == kAnyTag; }

template <MpiCall kCall>
inline void BeforeReceive(Record& r, Moment& m) {
  r.aux = (r.peer == kAnySource ? kPostedAnySource : 0) | (r.tag == kAnyTag ? kPostedAnyTag : 0);
  if constexpr (Has<kCall>(Role::Status))
    if (IsWild(r.peer, r.tag)) OwnStatus<kCall>(m);
}

template <MpiCall kCall>
inline void BeforeSendrecv(Record& r, Record& half, Moment& m) {
  half = r;
  half.flags |= kFlagSecondHalf;
  half.peer = g_abi.Peer(Arg<kCall, Role::RecvSource>(m));
  half.tag = g_abi.Tag(Arg<kCall, Role::RecvTag>(m));
  if constexpr (Has<kCall>(Role::RecvCount)) {
    half.count = static_cast<uint32_t>(Arg<kCall, Role::RecvCount>(m));
    half.dtype = TypeId(g_abi.Handle(Arg<kCall, Role::RecvType>(m)));
  }
  BeforeReceive<kCall>(half, m);
}

template <MpiCall kCall>
inline void BeforeCompletion(ThreadState& t, Record& r, Moment& m) {
  InFlight& f = t.slot->in_flight;
  if constexpr (kInfo<kCall>.shape == CallShape::One) {
    m.handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Request>(m)));
    m.pending = LookUp(m.handle);
    f.request_count = 1;
    f.requests[0] = m.pending.operation;
    for (uint32_t i = 1; i < kMaxOpenRequests; ++i) f.requests[i] = 0;
    if (m.pending.receives && IsWild(m.pending.peer, m.pending.tag)) OwnStatus<kCall>(m);
  } else {
    int count = static_cast<int32_t>(Arg<kCall, Role::RequestCount>(m));
    r.count = count > 0 ? count : 0;
    constexpr bool many = Has<kCall>(Role::Statuses);
    uint32_t status_bytes = 0;
    if constexpr (many) status_bytes = Arg<kCall, Role::Statuses>(m) == g_abi.statuses_ignore ? g_abi.status_bytes : 0;
    m.looked_up = LookUpAll(t, reinterpret_cast<void*>(Arg<kCall, Role::Requests>(m)), count, status_bytes, &m.all);
    bool wild = false;
    for (int i = 0; m.looked_up && i < m.all.count; ++i)
      wild = wild || (m.all.pending[i].receives && IsWild(m.all.pending[i].peer, m.all.pending[i].tag));
    if (!wild) return;
    if constexpr (many) {
      if (status_bytes) m.args[IndexOf<kCall>(Role::Statuses)] = Address(m.all.statuses);
    } else {
      OwnStatus<kCall>(m);
    }
  }
}

template <MpiCall kCall>
inline void BeforeMrecv(Record& r, Moment& m) {
  m.handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Message>(m)));
  if (Pending* message = g_tables->messages.Find(static_cast<uint64_t>(m.handle))) {
    r.comm = message->comm;
    r.peer = message->peer;
    r.tag = message->tag;
  }
}

template <MpiCall kCall>
[[gnu::always_inline]] inline void BeforeAttached(ThreadState& t, Record& r, Moment& m) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  FillArguments<kCall>(r, m);
  if constexpr (kind == CallKind::Recv || kind == CallKind::Probe) BeforeReceive<kCall>(r, m);
  if constexpr (kind == CallKind::Sendrecv) BeforeSendrecv<kCall>(r, t.slot->in_flight.half[1], m);
  if constexpr (kind == CallKind::Wait || kind == CallKind::Test) BeforeCompletion<kCall>(t, r, m);
  if constexpr (kind == CallKind::Mrecv) BeforeMrecv<kCall>(r, m);
  if constexpr (kind == CallKind::RequestFree || kind == CallKind::Cancel) {
    m.handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Request>(m)));
    m.pending = LookUp(m.handle);
    r.aux = m.pending.operation;
  }
  if constexpr (kind == CallKind::CommFree) {
    m.comm_handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::CommHandle>(m)));
    m.comm = g_tables->comms.Find(static_cast<uint64_t>(m.comm_handle));
    if (m.comm) r.comm = m.comm->id;
  }
  if constexpr (kind == CallKind::TypeFree)
    m.handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::TypeHandle>(m)));
  if constexpr (kind == CallKind::CommCreate)
    if (m.comm && kInfo<kCall>.shape != CallShape::CreateGroup)
      m.creation_index = std::atomic_ref(m.comm->next_creation).fetch_add(1, std::memory_order_relaxed);
}

template <MpiCall kCall>
[[gnu::always_inline]] inline void Before(ThreadState& t, Moment& m) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  Record& r = t.slot->in_flight.half[0];
  r = Record{};
  r.call = CallId(kCall);
  r.peer = kNoPeer;
  t.slot->in_flight.request_count = 0;
  m.comm = nullptr;
  m.creation_index = 0;
  m.pending.operation = 0;
  m.looked_up = false;
  r.stack = CaptureStack(t, LaneOf(kind) == kVitalLane);
  m.attached = IsAttached(t);
  if constexpr (kind != CallKind::Init && kind != CallKind::Finalize) {
    if (!m.attached) [[unlikely]] {
      AttachIfInitialized(t);
      m.attached = IsAttached(t);
    }
  }
  if (m.attached) [[likely]]
    BeforeAttached<kCall>(t, r, m);
  if constexpr (kind == CallKind::Abort) NoteAbort();
  OpenCall(t, kind == CallKind::Sendrecv ? 2 : 1);
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
  pending.receives = kind == CallKind::Recv || kind == CallKind::RecvInit;
  return pending;
}

template <MpiCall kCall>
inline const char* CreationKind() {
  switch (kCall) {
    case MpiCall::Comm_dup:
    case MpiCall::Comm_dup_with_info:
    case MpiCall::Comm_idup: return "dup";
    case MpiCall::Comm_split: return "split";
    case MpiCall::Comm_split_type: return "split_type";
    case MpiCall::Comm_create: return "create";
    case MpiCall::Comm_create_group: return "create_group";
    case MpiCall::Intercomm_create: return "intercomm";
    case MpiCall::Intercomm_merge: return "merge";
    case MpiCall::Cart_create: return "cart";
    case MpiCall::Cart_sub: return "cart_sub";
    default: return "graph";
  }
}

template <MpiCall kCall>
inline void AfterCreation(ThreadState& t, Record& r, Moment& m) {
  Word handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::NewComm>(m)));
  if (handle == g_abi.comm_null) return;
  Creation creation;
  creation.parent = m.comm;
  creation.parent_handle = m.comm_handle;
  creation.index = m.creation_index;
  creation.kind = CreationKind<kCall>();
  creation.same_members =
      kCall == MpiCall::Comm_dup || kCall == MpiCall::Comm_dup_with_info || kCall == MpiCall::Comm_idup;
  creation.by_group = kInfo<kCall>.shape == CallShape::CreateGroup;
  if constexpr (Has<kCall>(Role::Tag)) creation.tag = r.tag;
  if constexpr (Has<kCall>(Role::Color)) creation.color = static_cast<int32_t>(Arg<kCall, Role::Color>(m));
  if constexpr (Has<kCall>(Role::Key)) creation.key = static_cast<int32_t>(Arg<kCall, Role::Key>(m));
  AddCommunicator(t, handle, creation);
  if constexpr (!Has<kCall>(Role::Request))
    if (Comm* made = g_tables->comms.Find(static_cast<uint64_t>(handle))) r.aux = made->id;
}

// One operation ended by this very call: its record says which.
inline void CompleteOne(Record& r, Word handle, const Pending& pending, const void* status) {
  r.aux = pending.operation;
  r.count = pending.count;
  r.comm = pending.comm;
  r.dtype = pending.dtype;
  r.peer = pending.peer;
  r.tag = pending.tag;
  if (pending.cancelled) r.flags |= kFlagCancelled;
  ResolveFromStatus(r, pending, status);
  Forget(handle, pending);
}

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

// True: the call was a poll that found nothing and has been dealt with.
template <MpiCall kCall>
inline bool AfterCompletion(ThreadState& t, Record& r, Moment& m) {
  constexpr CallShape shape = kInfo<kCall>.shape;
  constexpr bool poll = kInfo<kCall>.kind == CallKind::Test;
  uint64_t key = (static_cast<uint64_t>(r.call) << 48) ^ (static_cast<uint64_t>(r.stack) << 24);
  if constexpr (shape == CallShape::One) {
    if (!FlagIsSet<kCall>(m)) {
      ClosePoll(t, kBulkLane, key ^ static_cast<uint64_t>(m.handle) ^ 1);
      return true;
    }
    if (m.pending.operation)
      CompleteOne(r, m.handle, m.pending, StatusOf<kCall>(m));
    else
      r.flags |= kFlagNothingDone;
  } else if constexpr (shape == CallShape::Any) {
    int index = *reinterpret_cast<const int*>(Arg<kCall, Role::Index>(m));
    bool ended = FlagIsSet<kCall>(m) && index >= 0 && m.looked_up && index < m.all.count;
    if (poll && !FlagIsSet<kCall>(m)) {
      ClosePoll(t, kBulkLane, key ^ static_cast<uint64_t>(Arg<kCall, Role::Requests>(m)));
      return true;
    }
    if (ended && m.all.pending[index].operation)
      CompleteOne(r, m.all.handles[index], m.all.pending[index], StatusOf<kCall>(m));
    else
      r.flags |= kFlagNothingDone;
  } else if constexpr (poll) {
    bool none = !FlagIsSet<kCall>(m);
    if constexpr (shape == CallShape::Some) none = *reinterpret_cast<const int*>(Arg<kCall, Role::OutCount>(m)) == 0;
    if (none) {
      ClosePoll(t, kBulkLane, key ^ static_cast<uint64_t>(Arg<kCall, Role::Requests>(m)));
      return true;
    }
  }
  return false;
}

// Completions of Waitall and its kin, after the call's own record.
template <MpiCall kCall>
inline void PushCompletions(ThreadState& t, const Record& by, Moment& m, bool failed) {
  constexpr CallShape shape = kInfo<kCall>.shape;
  if (!m.looked_up) return;
  Word statuses = Arg<kCall, Role::Statuses>(m);
  if constexpr (shape == CallShape::Some) {
    int done = *reinterpret_cast<const int*>(Arg<kCall, Role::OutCount>(m));
    const int* indices = reinterpret_cast<const int*>(Arg<kCall, Role::Indices>(m));
    for (int k = 0; k < done && done <= m.all.count; ++k) {
      int i = indices[k];
      if (i < 0 || i >= m.all.count || !m.all.pending[i].operation) continue;
      PushCompletion(t, by, m.all.pending[i], StatusAt(statuses, k));
      Forget(m.all.handles[i], m.all.pending[i]);
    }
  } else {
    const void* requests = reinterpret_cast<const void*>(Arg<kCall, Role::Requests>(m));
    for (int i = 0; i < m.all.count; ++i) {
      if (!m.all.pending[i].operation) continue;
      // After an error some may still be pending: those keep their handle.
      if (failed && g_abi.ReadHandle(requests, i) == m.all.handles[i]) continue;
      PushCompletion(t, by, m.all.pending[i], StatusAt(statuses, i));
      Forget(m.all.handles[i], m.all.pending[i]);
    }
  }
}

template <MpiCall kCall>
inline bool AfterProbe(ThreadState& t, Record& r, Moment& m) {
  if (!FlagIsSet<kCall>(m)) {
    uint64_t key = (static_cast<uint64_t>(r.call) << 48) ^ (static_cast<uint64_t>(r.stack) << 24) ^
                   (static_cast<uint64_t>(r.comm) << 40) ^ static_cast<uint32_t>(r.peer * 31 + r.tag) ^ 1;
    ClosePoll(t, kBulkLane, key);
    return true;
  }
  if (const void* status = StatusOf<kCall>(m)) {
    r.peer = g_abi.StatusSource(status);
    r.tag = g_abi.StatusTag(status);
  }
  if constexpr (Has<kCall>(Role::Message)) {
    Word message = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Message>(m)));
    if (message == g_abi.message_no_proc) return false;
    g_tables->messages.Remove(static_cast<uint64_t>(message));
    g_tables->messages.Insert(static_cast<uint64_t>(message), PendingOf<kCall>(r));
  }
  return false;
}

// MPI_Start and Startall: a record for each operation that began.
template <MpiCall kCall>
inline void PushStarts(ThreadState& t, const Record& by, Moment& m) {
  constexpr bool many = Has<kCall>(Role::Requests);
  const void* requests;
  int count = 1;
  if constexpr (many) {
    requests = reinterpret_cast<void*>(Arg<kCall, Role::Requests>(m));
    count = static_cast<int32_t>(Arg<kCall, Role::RequestCount>(m));
  } else {
    requests = reinterpret_cast<void*>(Arg<kCall, Role::Request>(m));
  }
  for (int i = 0; i < count; ++i) {
    Pending started = StartPersistent(g_abi.ReadHandle(requests, i));
    Record record = by;
    if (started.operation) {
      record.count = started.count;
      record.comm = started.comm;
      record.dtype = started.dtype;
      record.peer = started.peer;
      record.tag = started.tag;
      record.aux = started.operation;
      record.op = started.receives ? 2 : 1;  // direction: 1 send, 2 receive
    }
    if (i > 0) record.flags |= kFlagSecondHalf;  // of the same call
    Push(t, kBulkLane, record);
  }
}

template <MpiCall kCall>
[[gnu::always_inline]] inline void AfterAttached(ThreadState& t, Record& r, Moment& m) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  if constexpr (kind == CallKind::Recv && Has<kCall>(Role::Status)) {
    if (IsWild(r.peer, r.tag))
      r.peer = g_abi.StatusSource(StatusOf<kCall>(m)), r.tag = g_abi.StatusTag(StatusOf<kCall>(m));
  }
  if constexpr (kind == CallKind::Sendrecv) {
    Record& half = t.slot->in_flight.half[1];
    if (IsWild(half.peer, half.tag))
      half.peer = g_abi.StatusSource(StatusOf<kCall>(m)), half.tag = g_abi.StatusTag(StatusOf<kCall>(m));
  }
  if constexpr (kind == CallKind::CommCreate) AfterCreation<kCall>(t, r, m);
  if constexpr (kind == CallKind::SendInit || kind == CallKind::RecvInit)
    AddPersistent(g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Request>(m))), PendingOf<kCall>(r));
  else if constexpr (Has<kCall>(Role::Request) && kind != CallKind::Wait && kind != CallKind::Test &&
                     kind != CallKind::Start && kind != CallKind::RequestFree && kind != CallKind::Cancel)
    PostRequest(t, g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Request>(m))), PendingOf<kCall>(r));
  if constexpr (kind == CallKind::Mrecv) g_tables->messages.Remove(static_cast<uint64_t>(m.handle));
  if constexpr (kind == CallKind::RequestFree) {
    r.flags |= kFlagFreed;
    if (m.pending.operation || m.pending.persistent) g_tables->requests.Remove(static_cast<uint64_t>(m.handle));
  }
  if constexpr (kind == CallKind::Cancel) MarkCancelled(m.handle);
  if constexpr (kind == CallKind::CommFree) RemoveCommunicator(t, m.comm_handle);
  if constexpr (kind == CallKind::CommName)
    NameCommunicator(t, m.comm_handle, reinterpret_cast<const char*>(Arg<kCall, Role::Name>(m)));
  if constexpr (kind == CallKind::TypeCommit)
    AddDerivedType(t, g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::TypeHandle>(m))));
  if constexpr (kind == CallKind::TypeFree) RemoveType(m.handle);
}

template <MpiCall kCall>
inline void AfterInit(ThreadState& t, Moment& m) {
  int level = 0;
  if constexpr (Has<kCall>(Role::ThreadLevel)) level = *reinterpret_cast<const int*>(Arg<kCall, Role::ThreadLevel>(m));
  Attach(t, level);
}

template <MpiCall kCall>
[[gnu::always_inline]] inline void After(ThreadState& t, Moment& m, Word result) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  constexpr LaneId lane = LaneOf(kind);
  Record& r = t.slot->in_flight.half[0];
  r.result = static_cast<int32_t>(result);
  bool succeeded = r.result == 0;
  if constexpr (kind == CallKind::Init) {
    if (succeeded) AfterInit<kCall>(t, m);
  } else if (!m.attached) [[unlikely]] {
    CloseCall(t, lane);
    return;
  }
  if constexpr (kind == CallKind::Wait || kind == CallKind::Test) {
    constexpr bool many = kInfo<kCall>.shape == CallShape::All || kInfo<kCall>.shape == CallShape::Some;
    if (succeeded && AfterCompletion<kCall>(t, r, m)) return;
    CloseCall(t, lane);
    // half[0] keeps its fields until this thread's next call
    if constexpr (many) PushCompletions<kCall>(t, r, m, !succeeded);
    return;
  }
  if constexpr (kind == CallKind::Probe)
    if (succeeded && AfterProbe<kCall>(t, r, m)) return;
  if constexpr (kind == CallKind::Start) {
    r.duration = Now() - r.start;
    if (succeeded)
      PushStarts<kCall>(t, r, m);
    else
      Push(t, lane, r);
    EndInFlight(t);
    return;
  }
  if (succeeded && m.attached) AfterAttached<kCall>(t, r, m);
  CloseCall(t, lane);
}

template <class F, size_t... I>
[[gnu::always_inline]] inline Word Apply(F function, const Word* args, std::index_sequence<I...>) {
  return function(args[I]...);
}

// What MPI_X and PMPI_X have in common. `frame`: of the wrapper itself. Not inlined: the two share it.
template <MpiCall kCall, class... W>
[[gnu::noinline]] Word Traced(Word (*function)(W...), void* frame, W... words) {
  ThreadState* t = Enter(frame);
  bool from_callback = false;
  if (!t) [[unlikely]] {
    t = EnterFromCallback(frame, Has<kCall>(Role::Requests));
    if (!t) return function(words...);
    from_callback = true;
  }
  Word args[] = {words..., 0};
  Moment m;
  m.args = args;
  Before<kCall>(*t, m);
  Word result = Apply(function, args, std::make_index_sequence<sizeof...(W)>());
  After<kCall>(*t, m, result);
  if (from_callback) [[unlikely]]
    LeaveCallback(*t);
  else
    Leave(*t);
  return result;
}

template <MpiCall kCall, bool kProfiling, class... W>
[[gnu::always_inline]] inline Word Run(const char* name, void* frame, W... words) {
  using Function = Word (*)(W...);
  std::atomic<void*>& real = g_real[kProfiling][static_cast<size_t>(kCall)];
  auto function = reinterpret_cast<Function>(real.load(std::memory_order_relaxed));
  if (!function) [[unlikely]] {
    function = reinterpret_cast<Function>(RequireRealFunction(name));
    real.store(reinterpret_cast<void*>(function), std::memory_order_relaxed);
  }
  if constexpr (kInfo<kCall>.kind == CallKind::Finalize) {
    Word result = Traced<kCall>(function, frame, words...);
    if (static_cast<int32_t>(result) == 0) ForgetLibrary();
    return result;
  } else {
    return Traced<kCall>(function, frame, words...);
  }
}

}  // namespace ddbg::shim::mpi
