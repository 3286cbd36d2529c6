// After a call that made a communicator, or what is counted like one: a window, a file, a persistent collective.
#pragma once

#include "shim/mpi/moment.h"

namespace ddbg::shim::mpi {

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

}  // namespace ddbg::shim::mpi
