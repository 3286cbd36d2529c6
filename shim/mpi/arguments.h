// Arguments into the record, before the real call.
#pragma once

#include "shim/mpi/datatypes.h"
#include "shim/mpi/displacements.h"
#include "shim/mpi/moment.h"

namespace ddbg::shim::mpi {

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
  if constexpr (kAssertAt<kCall> >= 0) {
    bool unchecked = static_cast<int32_t>(m.args[kAssertAt<kCall>]) & g_abi.mode_nocheck;
    if constexpr (kind == CallKind::Lock)
      r.aux = static_cast<uint64_t>(unchecked ? kUnchecked : 0);
    else
      r.tag = unchecked ? kUnchecked : 0;
  }
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

}  // namespace ddbg::shim::mpi
