// Calls that complete, start or ask after operations: what is looked up before the real call, and which records the
// outcome makes of it.
#pragma once

#include "proto/operations.h"
#include "shim/mpi/buffers.h"
#include "shim/mpi/moment.h"
#include "shim/recorder/ids.h"

namespace ddbg::shim::mpi {

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
    r.seq = static_cast<uint32_t>(NextOperation());  // what receives it may be called after later receives
    Pending taken = PendingOf<kCall>(r);
    taken.operation = r.seq;
    g_tables->messages.Insert(static_cast<uint64_t>(message), taken);
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

}  // namespace ddbg::shim::mpi
