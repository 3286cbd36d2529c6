// One wrapper for every NCCL function, made from its row in calls_nccl.def. Word-typed, as MPI's (mpi/wrapper.h); an
// ncclUniqueId by value is the one argument that is no word.
//
// Only the outermost call counts: ncclBcast calls ncclBroadcast through the same symbols, and others call themselves.
#pragma once

#include "proto/call.h"
#include "shim/cuda/completion.h"
#include "shim/cuda/streams.h"
#include "shim/interpose/roles.h"
#include "shim/nccl/communicators.h"
#include "shim/nccl/group.h"
#include "shim/nccl/library.h"
#include "shim/recorder/ids.h"
#include "shim/recorder/polls.h"
#include "shim/recorder/recorder.h"
#include "shim/recorder/stacks.h"

namespace ddbg::shim {
#define DDBG_NCCL(name, kind, shape, ...) DDBG_ROLES(NcclCall::name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_nccl.def"
#undef DDBG_NCCL
}  // namespace ddbg::shim

namespace ddbg::shim::nccl {

// What a wrapper keeps from before the real call until after it. Trivial: a longjmp may skip the end.
struct Moment {
  const Word* args;
  Comm* comm;
  Word handle;  // of it
  Comm kept;    // the communicator that a call ends
  bool attached;
};

template <NcclCall kCall, Role kRole>
[[gnu::always_inline]] inline Word Arg(const Moment& m) {
  static_assert(Has<kCall>(kRole));
  return m.args[IndexOf<kCall>(kRole)];
}

template <class T>
T* At(Word address) {
  return reinterpret_cast<T*>(address);
}

inline uint8_t OpOf(Word comm, Word word) {
  constexpr uint8_t kOps[] = {kOpSum, kOpProd, kOpMax, kOpMin, kOpAvg};
  int32_t op = static_cast<int32_t>(word);
  if (op >= 0 && op < kFirstOwnOp) return kOps[op];
  return g_tables->own_ops.Find(static_cast<uint64_t>(comm) + static_cast<uint32_t>(op)) ? kOpPreMulSum : kOpUser;
}

inline uint32_t TypeId(Word word) {
  int32_t type = static_cast<int32_t>(word);
  return type >= 0 && type < kTypeCount ? g_tables->type_ids[type] : 0;
}

template <NcclCall kCall>
[[gnu::always_inline]] inline void FillArguments(ThreadState& t, Record& r, Moment& m) {
  if constexpr (Has<kCall>(Role::Comm)) {
    m.handle = Arg<kCall, Role::Comm>(m);
    m.comm = m.handle ? g_tables->comms.Find(static_cast<uint64_t>(m.handle)) : nullptr;
    if (m.comm) r.comm = m.comm->id;
    // The ranks that a shrunk communicator leaves out do not call.
    if constexpr (IsCollective(kInfo<kCall>.kind) && kInfo<kCall>.shape != CallShape::CreateGroup)
      if (m.comm) r.seq = std::atomic_ref(m.comm->next_seq).fetch_add(1, std::memory_order_relaxed);
  }
  if constexpr (Has<kCall>(Role::Count)) r.count = static_cast<uint64_t>(Arg<kCall, Role::Count>(m));
  if constexpr (Has<kCall>(Role::Bytes)) r.count = static_cast<uint64_t>(Arg<kCall, Role::Bytes>(m));
  if constexpr (Has<kCall>(Role::RequestCount)) r.count = static_cast<uint32_t>(Arg<kCall, Role::RequestCount>(m));
  if constexpr (Has<kCall>(Role::RankCount)) r.count = static_cast<uint32_t>(Arg<kCall, Role::RankCount>(m));
  if constexpr (Has<kCall>(Role::Type)) r.dtype = TypeId(Arg<kCall, Role::Type>(m));
  if constexpr (Has<kCall>(Role::Root)) r.peer = static_cast<int32_t>(Arg<kCall, Role::Root>(m));
  if constexpr (Has<kCall>(Role::Dest)) r.peer = static_cast<int32_t>(Arg<kCall, Role::Dest>(m));
  if constexpr (Has<kCall>(Role::Source)) r.peer = static_cast<int32_t>(Arg<kCall, Role::Source>(m));
  if constexpr (Has<kCall>(Role::OwnRank)) r.peer = static_cast<int32_t>(Arg<kCall, Role::OwnRank>(m));
  if constexpr (Has<kCall>(Role::Color)) r.tag = static_cast<int32_t>(Arg<kCall, Role::Color>(m));
  if constexpr (Has<kCall>(Role::Pointer)) r.aux = static_cast<uint64_t>(Arg<kCall, Role::Pointer>(m));
  if constexpr (Has<kCall>(Role::Op)) r.op = OpOf(m.handle, Arg<kCall, Role::Op>(m));
  if constexpr (Has<kCall>(Role::SendBuf) && Has<kCall>(Role::RecvBuf))
    if (Arg<kCall, Role::SendBuf>(m) == Arg<kCall, Role::RecvBuf>(m)) r.flags |= kFlagInPlace;
  if constexpr (Has<kCall>(Role::Stream)) {
    r.tag = static_cast<int32_t>(
        cuda::StreamId(t, static_cast<uint64_t>(Arg<kCall, Role::Stream>(m)), false, m.comm ? m.comm->device : -1));
    r.aux = NextOperation();
    if (cuda::IsCapturing(static_cast<uint64_t>(Arg<kCall, Role::Stream>(m)))) r.flags |= kFlagCapturing;
  }
  if (InGroup(t)) {
    r.flags |= kFlagGrouped;
    if constexpr (Has<kCall>(Role::Stream)) {
      AddToGroup(OwnGroup(t), r.aux);
      if (!(r.flags & kFlagCapturing))
        AddStreamToGroup(OwnGroup(t), static_cast<uint64_t>(Arg<kCall, Role::Stream>(m)), r.aux);
    }
  }
}

// What the call is about to make is defined in the trace before it: it may never return.
template <NcclCall kCall>
inline void DescribeNew(ThreadState& t, Record& r, Moment& m, const UniqueId* id, NewComm* made) {
  if constexpr (kInfo<kCall>.kind == CallKind::CommCreate) {
    if (!m.comm) return;
    const void* config = At<void>(Arg<kCall, Role::Config>(m));
    if constexpr (Has<kCall>(Role::Color))
      DescribeSplit(t, *m.comm, r.tag, static_cast<int32_t>(Arg<kCall, Role::Key>(m)), config, made);
    else
      DescribeShrink(t, *m.comm, At<int32_t>(Arg<kCall, Role::Exclude>(m)),
                     static_cast<int32_t>(Arg<kCall, Role::ExcludeCount>(m)), config, made);
    return;
  } else if constexpr (Has<kCall>(Role::Devices)) {
    return;  // several at once: DescribeAll
  } else {
    const void* config = nullptr;
    uint32_t ids = 1;
    if constexpr (Has<kCall>(Role::Config)) config = At<void>(Arg<kCall, Role::Config>(m));
    // A wrong number is NCCL's to refuse, before it reads that many.
    if constexpr (Has<kCall>(Role::IdCount)) ids = static_cast<uint32_t>(Arg<kCall, Role::IdCount>(m));
    if (ids > r.count) ids = 0;
    if constexpr (Has<kCall>(Role::UniqueIds)) id = At<UniqueId>(Arg<kCall, Role::UniqueIds>(m));
    if (m.comm)
      DescribeGrow(t, *m.comm, static_cast<int32_t>(r.count), id, config, made);
    else
      DescribeInit(t, static_cast<int32_t>(r.count), r.peer, id, id ? ids : 0, config, made);
    r.comm = made->comm.id;
  }
}

inline void BeforeGroupEnd(ThreadState& t, Record& r) {
  Group& group = OwnGroup(t);
  InFlight& f = t.slot->in_flight;
  r.tag = static_cast<int32_t>(group.depth);
  r.aux = group.number;
  if (group.depth != 1) return;
  r.count = group.operations;
  f.request_count = group.operations;
  for (uint32_t i = 0; i < kMaxOpenRequests; ++i) f.requests[i] = i < group.operations ? group.first[i] : 0;
}

template <NcclCall kCall>
[[gnu::always_inline]] inline void Before(ThreadState& t, Moment& m, const UniqueId* id, NewComm* made) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  Record& r = t.slot->in_flight.half[0];
  r = Record{};
  r.call = CallId(kCall);
  r.peer = kNoPeer;
  t.slot->in_flight.request_count = 0;
  m.comm = nullptr;
  m.handle = 0;
  r.stack = CaptureStack(t, LaneOf(kind) == kVitalLane);
  m.attached = Attach(t);
  if (m.attached) [[likely]] {
    FillArguments<kCall>(t, r, m);
    if constexpr (Has<kCall>(Role::NewComm)) DescribeNew<kCall>(t, r, m, id, made);
    // The handle may come back as another communicator's as soon as this one is gone.
    if constexpr (kind == CallKind::CommFree || kind == CallKind::CommAbort) {
      if (m.comm) m.kept = *m.comm;
      if (m.comm) g_tables->comms.Remove(static_cast<uint64_t>(m.handle));
    }
    if constexpr (kind == CallKind::GroupEnd) BeforeGroupEnd(t, r);
  }
  OpenCall(t, 1);
}

inline bool Began(int32_t result) { return result == kSuccess || result == kInProgress; }

template <NcclCall kCall>
inline void AfterCreation(ThreadState& t, Record& r, Moment& m, LibraryCopy* copy, NewComm& made) {
  if (made.comm.id == 0) return;
  const Word* place = At<Word>(Arg<kCall, Role::NewComm>(m));
  bool none = Has<kCall>(Role::Color) && r.tag == kSplitNoColor;
  if (!Began(r.result) || !place || none) {
    if (!none) DropCommunicator(t, made.comm.id);
    return;
  }
  if constexpr (kInfo<kCall>.kind == CallKind::CommCreate) r.aux = made.comm.id;
  made.comm.copy = copy;
  Word handle = *place;
  if (!handle) return;
  if (InGroup(t)) Await(OwnGroup(t), handle);
  AddCommunicator(t, handle, made);
  if (r.result == kInProgress || InGroup(t)) return;
  if (Comm* comm = g_tables->comms.Find(static_cast<uint64_t>(handle))) Complete(t, handle, *comm);
}

// The group is over: communicators that began in it are ready, or will be (non-blocking).
inline void AfterGroup(ThreadState& t, const Record& r, Group& group) {
  for (uint32_t i = 0; i < group.awaited && r.result == kSuccess; ++i) {
    Comm* comm = g_tables->comms.Find(static_cast<uint64_t>(group.handle[i]));
    if (comm && comm->blocking) Complete(t, group.handle[i], *comm);
  }
  for (uint32_t i = 0; i < group.streams && r.result == kSuccess; ++i)
    cuda::NoteEnqueued(t, group.stream[i], group.last_operation[i]);
  group.awaited = group.operations = group.streams = 0;
  group.number = 0;
}

inline void AfterAsyncError(ThreadState& t, Record& r, Moment& m, const int32_t* state) {
  bool changed = !m.comm || !state || *state != m.comm->async_state || r.result != kSuccess;
  if (state) r.aux = static_cast<uint32_t>(*state);
  uint64_t key =
      (static_cast<uint64_t>(r.comm) << 32 | static_cast<uint64_t>(CallId(NcclCall::ncclCommGetAsyncError))) ^
      r.aux << 20;
  if (!changed) return CloseRepeatedPoll(t, kBulkLane, key);
  if (m.comm && state) {
    m.comm->async_state = *state;
    if (*state == kSuccess) Complete(t, m.handle, *m.comm);
  }
  // A change is news; what stays the same is told in rows.
  CloseCall(t, kVitalLane);
}

template <NcclCall kCall>
[[gnu::always_inline]] inline void After(ThreadState& t, Moment& m, Word result, LibraryCopy* copy, NewComm* made) {
  constexpr CallKind kind = kInfo<kCall>.kind;
  Record& r = t.slot->in_flight.half[0];
  r.result = static_cast<int32_t>(result);
  if (m.attached) {
    if constexpr (kind == CallKind::AsyncError)
      return AfterAsyncError(t, r, m, At<int32_t>(Arg<kCall, Role::State>(m)));
    if constexpr (Has<kCall>(Role::NewComm) && !Has<kCall>(Role::Devices)) AfterCreation<kCall>(t, r, m, copy, *made);
    if constexpr (kind == CallKind::CommFree || kind == CallKind::CommAbort) {
      if (r.comm && Began(r.result)) DropCommunicator(t, r.comm);
      if (r.comm && !Began(r.result)) g_tables->comms.Insert(static_cast<uint64_t>(m.handle), m.kept);
    }
    if constexpr (kind == CallKind::UniqueId) {
      const UniqueId* id = At<UniqueId>(Arg<kCall, Role::UniqueIds>(m));
      if (r.result == kSuccess && id) r.aux = HashOf(*id);
    }
    if constexpr (kind == CallKind::Alloc) {
      const Word* place = At<Word>(Arg<kCall, Role::NewPointer>(m));
      if (r.result == kSuccess && place) r.aux = static_cast<uint64_t>(*place);
    }
    if constexpr (kind == CallKind::OpCreate) {
      const int32_t* op = At<int32_t>(Arg<kCall, Role::NewOp>(m));
      if (r.result == kSuccess && op) {
        uint64_t key = static_cast<uint64_t>(m.handle) + static_cast<uint32_t>(*op);
        r.aux = static_cast<uint32_t>(*op);
        r.op = kOpPreMulSum;
        if (!g_tables->own_ops.Find(key)) g_tables->own_ops.Insert(key, 1);
      }
    }
    if constexpr (kind == CallKind::OpFree)
      g_tables->own_ops.Remove(static_cast<uint64_t>(m.handle) + static_cast<uint32_t>(Arg<kCall, Role::Op>(m)));
  }
  if constexpr (kind == CallKind::GroupStart) {
    Group& group = OwnGroup(t);
    if (r.result == kSuccess && group.depth++ == 0) group.number = NextGroupNumber();
    r.tag = static_cast<int32_t>(group.depth);
    if (group.depth == 1) r.aux = group.number;
  }
  if constexpr (kind == CallKind::GroupEnd) {
    Group& group = OwnGroup(t);
    if (group.depth > 0 && --group.depth == 0 && m.attached) AfterGroup(t, r, group);
  }
  if constexpr (Has<kCall>(Role::Stream)) {
    constexpr uint8_t kNotNow = kFlagGrouped | kFlagCapturing;
    if (m.attached && r.result == kSuccess && !(r.flags & kNotNow))
      cuda::NoteEnqueued(t, static_cast<uint64_t>(Arg<kCall, Role::Stream>(m)), r.aux);
  }
  CloseCall(t, LaneOf(kind));
}

// The copy for this call: the communicator's, else the caller's. Then its function; nullptr: no such function.
template <NcclCall kCall>
[[gnu::always_inline]] inline void* RealFunction(const Word* args, const void* caller, LibraryCopy** copy) {
  *copy = nullptr;
  if constexpr (Has<kCall>(Role::Comm)) {
    Word handle = args[IndexOf<kCall>(Role::Comm)];
    const Comm* comm = g_tables && handle ? g_tables->comms.Find(static_cast<uint64_t>(handle)) : nullptr;
    if (comm) *copy = comm->copy;
  }
  if (!*copy) *copy = g_copies.Of(caller);
  return *copy ? g_copies.Function(**copy, static_cast<uint32_t>(kCall)) : nullptr;
}

// Says so once; the program gets an error code that NCCL has.
Word NoFunction(NcclCall call) noexcept;

// What ncclX and pncclX have in common. `frame`: of the wrapper itself. Not inlined: the two share it.
template <NcclCall kCall, class... W>
[[gnu::noinline]] Word Traced(Word (*function)(W...), LibraryCopy* copy, void* frame, W... words) {
  ThreadState* t = Enter(frame);
  if (!t) return function(words...);
  const Word args[] = {words..., 0};
  Moment m;
  m.args = args;
  NewComm made;
  Before<kCall>(*t, m, nullptr, &made);
  Word result = function(words...);
  After<kCall>(*t, m, result, copy, &made);
  Leave(*t);
  return result;
}

template <NcclCall kCall, class... W>
[[gnu::always_inline]] inline Word Run(void* frame, const void* caller, W... words) {
  const Word args[] = {words..., 0};
  LibraryCopy* copy;
  auto function = reinterpret_cast<Word (*)(W...)>(RealFunction<kCall>(args, caller, &copy));
  if (!function) [[unlikely]]
    return NoFunction(kCall);
  return Traced<kCall>(function, copy, frame, words...);
}

}  // namespace ddbg::shim::nccl
