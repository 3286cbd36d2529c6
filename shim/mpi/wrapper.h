// One wrapper for every MPI function, made from its row in calls_mpi.def: what to do with each argument is decided at
// compile time by its role. Word-typed: every parameter is 64 bits, narrowed by role (mpi.md 1.2).
//
// Before the real function: the record is filled in place in the in-flight slot. After it: the record goes into the
// ring, with what only the outcome tells (matched source, new communicator, completed operations).
#pragma once

#include <utility>

#include "proto/call.h"
#include "proto/operations.h"
#include "shim/interpose/real_function.h"
#include "shim/interpose/roles.h"
#include "shim/mpi/buffers.h"
#include "shim/mpi/communicators.h"
#include "shim/mpi/datatypes.h"
#include "shim/mpi/displacements.h"
#include "shim/mpi/library.h"
#include "shim/mpi/nested.h"
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

// Record::tag of a lock.
inline constexpr int32_t kLockExclusive = 1, kLockShared = 2;

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

// What the call is on: a communicator, window or file, by its handle.
template <MpiCall kCall>
[[gnu::always_inline]] inline void FillComm(Record& r, Moment& m) {
  if constexpr (Has<kCall>(Role::Comm)) m.comm_handle = g_abi.Handle(Arg<kCall, Role::Comm>(m));
  if constexpr (Has<kCall>(Role::Win)) m.comm_handle = g_abi.Handle(Arg<kCall, Role::Win>(m));
  if constexpr (Has<kCall>(Role::File)) m.comm_handle = Arg<kCall, Role::File>(m);  // a pointer in every family
  if constexpr (Has<kCall>(Role::CommHandle))
    m.comm_handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::CommHandle>(m)));
  if constexpr (Has<kCall>(Role::WinHandle))
    m.comm_handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::WinHandle>(m)));
  if constexpr (Has<kCall>(Role::FileHandle)) m.comm_handle = *reinterpret_cast<Word*>(Arg<kCall, Role::FileHandle>(m));
  if constexpr (Has<kCall>(Role::Comm) || Has<kCall>(Role::Win) || Has<kCall>(Role::File) ||
                Has<kCall>(Role::CommHandle) || Has<kCall>(Role::WinHandle) || Has<kCall>(Role::FileHandle)) {
    m.comm = g_tables->comms.Find(static_cast<uint64_t>(m.comm_handle));
    if (!m.comm) return;
    r.comm = m.comm->id;
    // A communicator made over a group is not the parent's business: only the group's members call.
    if constexpr (IsCollective(kInfo<kCall>.kind) && kInfo<kCall>.shape != CallShape::CreateGroup)
      r.seq = std::atomic_ref(m.comm->next_seq).fetch_add(1, std::memory_order_relaxed);
  }
}

// What is a number in every family.
template <MpiCall kCall>
[[gnu::always_inline]] inline void FillNumbers(Record& r, const Moment& m) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  if constexpr (Has<kCall>(Role::Count)) r.count = Count<kCall, Role::Count>(m);
  if constexpr (Has<kCall>(Role::Bytes)) r.count = Count<kCall, Role::Bytes>(m);
  if constexpr (Has<kCall>(Role::LargeCount)) r.count = Count<kCall, Role::LargeCount>(m);
  if constexpr (Has<kCall>(Role::Partitions)) r.count *= Count<kCall, Role::Partitions>(m);
  if constexpr ((kind == CallKind::Rma || kind == CallKind::PartReady) && kInfo<kCall>.shape == CallShape::One)
    r.count = 1;
  if constexpr (Has<kCall>(Role::Low)) r.tag = static_cast<int32_t>(Arg<kCall, Role::Low>(m));
  if constexpr (Has<kCall>(Role::High))
    r.count = static_cast<uint64_t>(int64_t{static_cast<int32_t>(Arg<kCall, Role::High>(m))} - r.tag + 1);
  if constexpr (Has<kCall>(Role::Code)) r.tag = static_cast<int32_t>(Arg<kCall, Role::Code>(m));
  if constexpr (Has<kCall>(Role::AccessMode)) r.tag = static_cast<int32_t>(Arg<kCall, Role::AccessMode>(m));
  if constexpr (Has<kCall>(Role::Offset) && !Has<kCall>(Role::Request))
    r.aux = static_cast<uint64_t>(Arg<kCall, Role::Offset>(m));
}

// Nothing is known of handles, nor of which negative rank means what.
template <MpiCall kCall>
inline void FillWithoutFamily(Record& r, const Moment& m) {
  FillNumbers<kCall>(r, m);
  auto rank = [&](Word word) { r.peer = static_cast<int32_t>(word) >= 0 ? static_cast<int32_t>(word) : kNoPeer; };
  if constexpr (Has<kCall>(Role::Root)) rank(Arg<kCall, Role::Root>(m));
  if constexpr (Has<kCall>(Role::Dest)) rank(Arg<kCall, Role::Dest>(m));
  if constexpr (Has<kCall>(Role::Source)) rank(Arg<kCall, Role::Source>(m));
  if constexpr (Has<kCall>(Role::Tag)) r.tag = static_cast<int32_t>(Arg<kCall, Role::Tag>(m));
}

template <MpiCall kCall>
[[gnu::always_inline]] inline void FillArguments(Record& r, Moment& m) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  FillComm<kCall>(r, m);
  FillNumbers<kCall>(r, m);
  if constexpr (Has<kCall>(Role::Type)) r.dtype = TypeId(g_abi.Handle(Arg<kCall, Role::Type>(m)));
  if constexpr (Has<kCall>(Role::Root)) r.peer = g_abi.Peer(Arg<kCall, Role::Root>(m));
  if constexpr (Has<kCall>(Role::Dest)) r.peer = g_abi.Peer(Arg<kCall, Role::Dest>(m));
  if constexpr (Has<kCall>(Role::Source)) r.peer = g_abi.Peer(Arg<kCall, Role::Source>(m));
  if constexpr (Has<kCall>(Role::Tag)) r.tag = g_abi.Tag(Arg<kCall, Role::Tag>(m));
  if constexpr (kind == CallKind::Lock) r.tag = kLockShared;
  if constexpr (Has<kCall>(Role::LockType))
    if (static_cast<int32_t>(Arg<kCall, Role::LockType>(m)) == g_abi.lock_exclusive) r.tag = kLockExclusive;
  if constexpr (Has<kCall>(Role::Op)) {
    uint8_t* op = g_tables->ops.Find(static_cast<uint64_t>(g_abi.Handle(Arg<kCall, Role::Op>(m))));
    r.op = op ? *op : static_cast<uint8_t>(kOpUser);
  }
  if constexpr (Has<kCall>(Role::SendBuf))
    if (Arg<kCall, Role::SendBuf>(m) == g_abi.in_place) r.flags |= kFlagInPlace;
  if constexpr (Has<kCall>(Role::RecvBuf))
    if (Arg<kCall, Role::RecvBuf>(m) == g_abi.in_place) r.flags |= kFlagInPlace;
  // A non-blocking collective's aux is its operation number; its receive side goes unrecorded.
  if constexpr (kind == CallKind::Collective && Has<kCall>(Role::RecvCount) && !Has<kCall>(Role::Request))
    r.aux = RecvSide::Pack(Count<kCall, Role::RecvCount>(m), TypeId(g_abi.Handle(Arg<kCall, Role::RecvType>(m))));
}

// The first one that has overflowed: its value in `tag`, and its index in `aux` where nothing else is.
template <MpiCall kCall>
inline void CheckDisplacements(Record& r, const Moment& m) {
  auto displacements = reinterpret_cast<const int32_t*>(Arg<kCall, Role::Displs>(m));
  if (!m.comm || m.comm->entries == 0 || !displacements) return;
  if (Has<kCall>(Role::Root) && r.peer != m.comm->rank) return;
  int32_t index = FirstOverflow(displacements, m.comm->entries);
  if (index < 0) return;
  r.tag = displacements[index];
  if constexpr (!Has<kCall>(Role::RecvCount)) r.aux = static_cast<uint64_t>(index);
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
    half.count = Count<kCall, Role::RecvCount>(m);
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

// Of a request that the call neither gives nor completes.
template <MpiCall kCall>
inline void BeforeAsking(Record& r, Moment& m) {
  if constexpr (Has<kCall>(Role::RequestValue)) {
    m.handle = g_abi.Handle(Arg<kCall, Role::RequestValue>(m));
    m.pending = LookUp(m.handle);
    r.aux = m.pending.operation;
    r.comm = m.pending.comm;
    if (m.pending.operation) r.peer = m.pending.peer;
  } else {
    int count = static_cast<int32_t>(Arg<kCall, Role::RequestCount>(m));
    r.count = count > 0 ? count : 0;
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
  if constexpr (Has<kCall>(Role::Displs) && !kLarge<kCall>) CheckDisplacements<kCall>(r, m);
  if constexpr (kind == CallKind::Recv || kind == CallKind::Probe) BeforeReceive<kCall>(r, m);
  if constexpr (kind == CallKind::Sendrecv) BeforeSendrecv<kCall>(r, t.slot->in_flight.half[1], m);
  if constexpr (kind == CallKind::Wait || kind == CallKind::Test) BeforeCompletion<kCall>(t, r, m);
  if constexpr (kind == CallKind::Mrecv) BeforeMrecv<kCall>(r, m);
  if constexpr (kind == CallKind::RequestFree || kind == CallKind::Cancel) {
    m.handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Request>(m)));
    m.pending = LookUp(m.handle);
    r.aux = m.pending.operation;
  }
  if constexpr (kind == CallKind::PartReady || kind == CallKind::PartArrived || kind == CallKind::RequestStatus ||
                kind == CallKind::GrequestComplete)
    BeforeAsking<kCall>(r, m);
  if constexpr (kind == CallKind::Finalize) {
    if (g_checks_buffers.load(std::memory_order_relaxed)) CheckAllBuffers(t);
    ReleaseWorldGroup();
  }
  if constexpr (kind == CallKind::SessionFinalize)
    if (g_tables->group_session == g_abi.ReadHandle(reinterpret_cast<void*>(m.args[0]))) ReleaseWorldGroup();
  if constexpr (kind == CallKind::TypeFree)
    m.handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::TypeHandle>(m)));
  // Which ranks must come is told while it waits for them.
  if constexpr (kInfo<kCall>.shape == CallShape::CreateGroup && Has<kCall>(Role::Group))
    r.aux = AddGroup(t, g_abi.Handle(Arg<kCall, Role::Group>(m)), m.comm);
  if constexpr (kMakesComm<kCall>)
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
  m.comm_handle = m.handle = 0;
  m.creation_index = 0;
  m.pending.operation = 0;
  m.looked_up = false;
  r.stack = CaptureStack(t, LaneOf(kind) == kVitalLane);
  m.attached = IsAttached(t);
  if constexpr (kind != CallKind::Init && kind != CallKind::Finalize && kind != CallKind::SessionInit) {
    if (!m.attached) [[unlikely]] {
      AttachIfInitialized(t);
      m.attached = IsAttached(t);
    }
  }
  if (m.attached) [[likely]]
    BeforeAttached<kCall>(t, r, m);
  else
    FillWithoutFamily<kCall>(r, m);
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
  pending.receives = kind == CallKind::Recv || kind == CallKind::RecvInit || kind == CallKind::Sendrecv;
  return pending;
}

template <MpiCall kCall>
inline const char* CreationKind() {
  switch (kCall) {
    case MpiCall::Comm_dup:
    case MpiCall::Comm_dup_with_info:
    case MpiCall::Comm_idup:
    case MpiCall::Comm_idup_with_info: return "dup";
    case MpiCall::Comm_split: return "split";
    case MpiCall::Comm_split_type: return "split_type";
    case MpiCall::Comm_create: return "create";
    case MpiCall::Comm_create_group: return "create_group";
    case MpiCall::Comm_create_from_group: return "from_group";
    case MpiCall::Intercomm_create_from_groups: return "from_groups";
    case MpiCall::Comm_spawn:
    case MpiCall::Comm_spawn_multiple: return "spawn";
    case MpiCall::Comm_get_parent: return "parent";
    case MpiCall::Comm_accept:
    case MpiCall::Comm_connect: return "connect";
    case MpiCall::Comm_join: return "join";
    case MpiCall::Intercomm_create: return "intercomm";
    case MpiCall::Intercomm_merge: return "merge";
    case MpiCall::Cart_create: return "cart";
    case MpiCall::Cart_sub: return "cart_sub";
    default: return "graph";
  }
}

template <MpiCall kCall>
inline Creation CreationOf(const Moment& m) {
  Creation creation;
  creation.parent = m.comm;
  creation.parent_handle = m.comm_handle;
  creation.index = m.creation_index;
  return creation;
}

template <MpiCall kCall>
inline void AfterCreation(ThreadState& t, Record& r, Moment& m) {
  Word handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::NewComm>(m)));
  if (handle == g_abi.comm_null) return;
  if constexpr (kInfo<kCall>.kind == CallKind::CommParent) {  // asked for again
    if (Comm* known = g_tables->comms.Find(static_cast<uint64_t>(handle))) {
      r.aux = known->id;
      return;
    }
  }
  Creation creation = CreationOf<kCall>(m);
  creation.kind = CreationKind<kCall>();
  creation.same_members = kCall == MpiCall::Comm_dup || kCall == MpiCall::Comm_dup_with_info ||
                          kCall == MpiCall::Comm_idup || kCall == MpiCall::Comm_idup_with_info;
  creation.foreign = kInfo<kCall>.kind == CallKind::Spawn || kInfo<kCall>.kind == CallKind::Connect;
  creation.by_group = kInfo<kCall>.shape == CallShape::CreateGroup;
  if constexpr (Has<kCall>(Role::Tag)) creation.tag = r.tag;
  if constexpr (Has<kCall>(Role::TextTag))
    if (Word text = Arg<kCall, Role::TextTag>(m)) creation.text = reinterpret_cast<const char*>(text);
  if constexpr (Has<kCall>(Role::Color)) creation.color = static_cast<int32_t>(Arg<kCall, Role::Color>(m));
  if constexpr (Has<kCall>(Role::Key)) creation.key = static_cast<int32_t>(Arg<kCall, Role::Key>(m));
  AddCommunicator(t, handle, creation);
  if constexpr (!Has<kCall>(Role::Request))
    if (Comm* made = g_tables->comms.Find(static_cast<uint64_t>(handle))) r.aux = made->id;
}

template <MpiCall kCall>
inline void AfterSharedCreation(ThreadState& t, Record& r, Moment& m) {
  Creation creation = CreationOf<kCall>(m);
  if constexpr (kInfo<kCall>.kind == CallKind::FileOpen) {
    creation.kind = "file";
    const char* path = reinterpret_cast<const char*>(Arg<kCall, Role::Name>(m));
    r.aux = AddShared(t, *reinterpret_cast<Word*>(Arg<kCall, Role::NewFile>(m)), creation, path ? path : "");
  } else {
    creation.kind = "window";
    r.aux = AddShared(t, g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::NewWin>(m))), creation, "");
  }
}

// A persistent collective: what its starts are counted on stands under the request's handle.
template <MpiCall kCall>
inline void AfterCollectiveInit(ThreadState& t, const Record& r, Moment& m) {
  Word handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Request>(m)));
  Creation creation = CreationOf<kCall>(m);
  creation.kind = "persistent";
  Pending pending = PendingOf<kCall>(r);
  pending.comm = AddShared(t, handle, creation, "");
  pending.collective = 1;
  AddPersistent(handle, pending);
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

// The operation is over: what its buffer was given for may be looked at (buffers.h).
inline void CheckBufferOf(ThreadState& t, uint64_t operation) {
  if (g_checks_buffers.load(std::memory_order_relaxed)) [[unlikely]]
    CheckBuffer(t, operation);
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
      CompleteOne(r, m.handle, m.pending, StatusOf<kCall>(m)), CheckBufferOf(t, r.aux);
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
      CompleteOne(r, m.all.handles[index], m.all.pending[index], StatusOf<kCall>(m)), CheckBufferOf(t, r.aux);
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
      CheckBufferOf(t, m.all.pending[i].operation);
    }
  } else {
    const void* requests = reinterpret_cast<const void*>(Arg<kCall, Role::Requests>(m));
    for (int i = 0; i < m.all.count; ++i) {
      if (!m.all.pending[i].operation) continue;
      // After an error some may still be pending: those keep their handle.
      if (failed && g_abi.ReadHandle(requests, i) == m.all.handles[i]) continue;
      PushCompletion(t, by, m.all.pending[i], StatusAt(statuses, i));
      Forget(m.all.handles[i], m.all.pending[i]);
      CheckBufferOf(t, m.all.pending[i].operation);
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

// True: it found nothing yet and has been dealt with.
template <MpiCall kCall>
inline bool AfterAsking(ThreadState& t, Record& r, Moment& m) {
  bool found = FlagIsSet<kCall>(m);
  if constexpr (Has<kCall>(Role::OutCount)) found = *reinterpret_cast<const int*>(Arg<kCall, Role::OutCount>(m)) != 0;
  if (found) return false;
  uint64_t key = (static_cast<uint64_t>(r.call) << 48) ^ (static_cast<uint64_t>(r.stack) << 24);
  Word about = m.handle ^ m.comm_handle;
  if constexpr (Has<kCall>(Role::Requests)) about = Arg<kCall, Role::Requests>(m);
  ClosePoll(t, kBulkLane, key ^ static_cast<uint64_t>(about) ^ static_cast<uint32_t>(r.tag * 31) ^ 1);
  return true;
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
    Word handle = g_abi.ReadHandle(requests, i);
    Pending started = StartPersistent(handle);
    Record record = by;
    if (started.operation) {
      record.count = started.count;
      record.comm = started.comm;
      record.dtype = started.dtype;
      record.peer = started.peer;
      record.tag = started.tag;
      record.aux = started.operation;
      record.op = started.receives ? kStartedReceive : kStartedSend;
      if (started.collective) {
        record.op = kStartedCollective;
        if (Comm* instances = g_tables->comms.Find(static_cast<uint64_t>(handle)))
          record.seq = std::atomic_ref(instances->next_seq).fetch_add(1, std::memory_order_relaxed);
      }
    }
    if (i > 0) record.flags |= kFlagSecondHalf;  // of the same call
    Push(t, kBulkLane, record);
  }
}

// One operation of two messages: both halves have its number, and the request's status is the receive's.
template <MpiCall kCall>
inline void AfterIsendrecv(ThreadState& t, Record& r, Moment& m) {
  Record& half = t.slot->in_flight.half[1];
  PostRequest(t, g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Request>(m))), PendingOf<kCall>(half));
  half.aux = r.aux;
  half.flags |= r.flags & (kFlagCompletedAtPost | kFlagUntracked);
}

template <MpiCall kCall>
[[gnu::always_inline]] inline void AfterAttached(ThreadState& t, Record& r, Moment& m) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  if constexpr (kind == CallKind::Recv && Has<kCall>(Role::Status)) {
    if (IsWild(r.peer, r.tag))
      r.peer = g_abi.StatusSource(StatusOf<kCall>(m)), r.tag = g_abi.StatusTag(StatusOf<kCall>(m));
  }
  if constexpr (kind == CallKind::Sendrecv && Has<kCall>(Role::Status)) {
    Record& half = t.slot->in_flight.half[1];
    if (IsWild(half.peer, half.tag))
      half.peer = g_abi.StatusSource(StatusOf<kCall>(m)), half.tag = g_abi.StatusTag(StatusOf<kCall>(m));
  }
  if constexpr (Has<kCall>(Role::NewComm)) AfterCreation<kCall>(t, r, m);
  if constexpr (kind == CallKind::WinCreate || kind == CallKind::FileOpen) AfterSharedCreation<kCall>(t, r, m);
  if constexpr (kind == CallKind::CollectiveInit)
    AfterCollectiveInit<kCall>(t, r, m);
  else if constexpr (kind == CallKind::Sendrecv && Has<kCall>(Role::Request))
    AfterIsendrecv<kCall>(t, r, m);
  else if constexpr (kind == CallKind::SendInit || kind == CallKind::RecvInit)
    AddPersistent(g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Request>(m))), PendingOf<kCall>(r));
  else if constexpr (Has<kCall>(Role::Request) && kind != CallKind::Wait && kind != CallKind::Test &&
                     kind != CallKind::Start && kind != CallKind::RequestFree && kind != CallKind::Cancel)
    PostRequest(t, g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Request>(m))), PendingOf<kCall>(r));
  if constexpr (kind == CallKind::Send && Has<kCall>(Role::Request) && kInfo<kCall>.shape != CallShape::Buffered)
    if (g_checks_buffers.load(std::memory_order_relaxed)) [[unlikely]]
      WatchBuffer(r.flags & kFlagCompletedAtPost ? 0 : r.aux, reinterpret_cast<void*>(m.args[0]), r.count,
                  g_abi.Handle(Arg<kCall, Role::Type>(m)));
  if constexpr (kind == CallKind::Mrecv) g_tables->messages.Remove(static_cast<uint64_t>(m.handle));
  if constexpr (kind == CallKind::RequestFree) {
    r.flags |= kFlagFreed;
    if (g_checks_buffers.load(std::memory_order_relaxed)) ForgetBuffer(m.pending.operation);
    if (m.pending.collective) RemoveCommunicator(t, m.handle);
    if (m.pending.operation || m.pending.persistent) g_tables->requests.Remove(static_cast<uint64_t>(m.handle));
  }
  if constexpr (kind == CallKind::Cancel) MarkCancelled(m.handle);
  if constexpr (kind == CallKind::CommFree || kind == CallKind::WinFree || kind == CallKind::FileClose)
    RemoveCommunicator(t, m.comm_handle);
  if constexpr (kind == CallKind::SessionFinalize) LeaveSession();
  if constexpr (kind == CallKind::CommName)
    NameCommunicator(t, m.comm_handle, reinterpret_cast<const char*>(Arg<kCall, Role::Name>(m)));
  if constexpr (kind == CallKind::TypeCommit)
    AddDerivedType(t, g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::TypeHandle>(m))));
  if constexpr (kind == CallKind::TypeFree) RemoveType(m.handle);
}

template <MpiCall kCall>
inline int ThreadLevelOf(const Moment& m) {
  if constexpr (Has<kCall>(Role::ThreadLevel)) return *reinterpret_cast<const int*>(Arg<kCall, Role::ThreadLevel>(m));
  return 0;
}

template <MpiCall kCall>
inline void AfterInit(ThreadState& t, Moment& m) {
  if constexpr (kInfo<kCall>.kind == CallKind::SessionInit) {
    // A pointer or an int: which of them shows only when the family is known.
    return AttachSession(t, reinterpret_cast<void*>(Arg<kCall, Role::NewSession>(m)));
  } else {
    Attach(t, ThreadLevelOf<kCall>(m));
  }
}
template <MpiCall kCall>
[[gnu::always_inline]] inline void After(ThreadState& t, Moment& m, Word result) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  constexpr LaneId lane = LaneOf(kind);
  Record& r = t.slot->in_flight.half[0];
  r.result = static_cast<int32_t>(result);
  bool succeeded = r.result == 0;
  if constexpr (kind == CallKind::Init || kind == CallKind::SessionInit) {
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
  if constexpr (kind == CallKind::PartArrived || kind == CallKind::RequestStatus ||
                (kind == CallKind::Epoch && Has<kCall>(Role::Flag)))
    if (succeeded && AfterAsking<kCall>(t, r, m)) return;
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
  OuterCall outer;
  if (!t) [[unlikely]] {
    t = EnterNested(static_cast<void**>(frame), &outer);
    if (!t) return function(words...);
  }
  Word args[] = {words..., 0};
  Moment m;
  m.args = args;
  Before<kCall>(*t, m);
  if (outer.guard) [[unlikely]]
    t->slot->in_flight.half[0].flags |= kFlagNested;
  Word result = Apply(function, args, std::make_index_sequence<sizeof...(W)>());
  After<kCall>(*t, m, result);
  if (outer.guard) [[unlikely]]
    LeaveNested(*t, outer);
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
