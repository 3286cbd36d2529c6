// One wrapper for every MPI function, made from its row in calls_mpi.def: what to do with each argument is decided at
// compile time by its role. Word-typed: every parameter is 64 bits, narrowed by role (mpi.md 1.2).
//
// Before the real function: the record is filled in place in the in-flight slot. After it: the record goes into the
// ring, with what only the outcome tells (matched source, new communicator, completed operations).
#pragma once

#include <utility>

#include "proto/call.h"
#include "shim/interpose/real_function.h"
#include "shim/mpi/arguments.h"
#include "shim/mpi/buffers.h"
#include "shim/mpi/completions.h"
#include "shim/mpi/creations.h"
#include "shim/mpi/moment.h"
#include "shim/mpi/nested.h"
#include "shim/recorder/recorder.h"
#include "shim/recorder/stacks.h"

namespace ddbg::shim::mpi {

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
inline void BeforeMrecv(Record& r, Moment& m) {
  m.handle = g_abi.ReadHandle(reinterpret_cast<void*>(Arg<kCall, Role::Message>(m)));
  if (Pending* message = g_tables->messages.Find(static_cast<uint64_t>(m.handle))) {
    r.comm = message->comm;
    r.peer = message->peer;
    r.tag = message->tag;
    r.seq = static_cast<uint32_t>(message->operation);
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
  if constexpr (kind == CallKind::Epoch && Has<kCall>(Role::Group))
    r.aux = GroupId(t, g_abi.Handle(Arg<kCall, Role::Group>(m)), m.comm);
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
  if constexpr (kind == CallKind::CommFree || kind == CallKind::Disconnect || kind == CallKind::WinFree ||
                kind == CallKind::FileClose)
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
// A collective that MPI has refused for its arguments was not made: its number goes to the next one. What began on the
// communicator meanwhile, in another thread, keeps its own.
template <MpiCall kCall>
inline void TakeBack(Record& r, Moment& m) {
  if (!m.comm || !g_abi.BlamesArgument(r.result)) return;
  uint32_t next = r.seq + 1, next_creation = m.creation_index + 1;
  if (!std::atomic_ref(m.comm->next_seq).compare_exchange_strong(next, r.seq, std::memory_order_relaxed)) return;
  r.flags |= kFlagNothingDone;
  if constexpr (kMakesComm<kCall>)
    std::atomic_ref(m.comm->next_creation)
        .compare_exchange_strong(next_creation, m.creation_index, std::memory_order_relaxed);
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
  if constexpr (IsCollective(kind) && kInfo<kCall>.shape != CallShape::CreateGroup)
    if (!succeeded && m.attached) [[unlikely]]
      TakeBack<kCall>(r, m);
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
