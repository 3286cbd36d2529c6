// The calls ddbg knows, read from the .def tables: ids, names, kinds, shapes and the role of each argument.
// Everything here is constexpr and shared by the shim (which builds wrappers from the roles) and the analyzer
// (which compares calls by kind and shape).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/ring_layout.h"

namespace ddbg {

enum class CallKind : uint8_t {
  Init,
  Finalize,
  Abort,
  Collective,
  Send,
  Recv,
  Sendrecv,
  Probe,
  Mrecv,
  SendInit,
  RecvInit,
  Start,
  Wait,
  Test,
  RequestFree,
  Cancel,
  CommCreate,
  CommFree,
  CommName,
  TypeCommit,
  TypeFree,
};

// What must agree between the members of a communicator, or how a completion call ends.
enum class CallShape : uint8_t {
  None,
  Barrier,      // nothing but the call
  Bcast,        // root; count × type
  Reduce,       // root, op; count × type
  Allreduce,    // op; count × type
  Gather,       // root; each send side == the root's receive side
  Scatter,      // root; the root's send side == each receive side
  Allgather,    // each send side == each receive side
  Alltoall,     // same
  VaryRooted,   // root only: sizes differ by design
  Vary,         // nothing: sizes differ by design
  VaryReduce,   // op
  Create,       // a communicator over all members of the parent
  CreateGroup,  // over a group: only its members call
  CreateInter,  // over the local group
  Buffered,     // a send that never waits for its receiver
  One,
  All,
  Any,
  Some,  // Wait*, Test*
};

// What a wrapper's argument is. Words are 64 bits; 32-bit ones have a garbage upper half (mpi.md 1.2).
enum class Role : uint8_t {
  Skip,
  Count,
  Type,
  Comm,
  Root,
  Op,
  Dest,
  Source,
  Tag,
  SendBuf,
  RecvBuf,  // looked at only for MPI_IN_PLACE
  RecvCount,
  RecvType,
  RecvSource,
  RecvTag,  // the receive side of a call with two
  Request,
  RequestCount,
  Requests,
  Status,
  Statuses,
  Index,
  Indices,
  OutCount,
  Flag,
  Message,
  Group,
  Color,
  Key,
  NewComm,
  CommHandle,
  TypeHandle,
  Name,
  ThreadLevel,
  Code,
};

struct CallInfo {
  std::string_view name;  // "MPI_Send"
  CallKind kind;
  CallShape shape;
  uint8_t arguments;
  bool has_request;  // non-blocking: gives a request back
};

namespace internal {
template <class... R>
constexpr bool HasRequest(R... roles) {
  return ((roles == Role::Request) || ... || false);
}
constexpr bool HasRequest() { return false; }
}  // namespace internal

// Index 0 is call id kFirstCall.
inline constexpr CallInfo kCalls[] = {
#define DDBG_MPI(name, kind, shape, ...)                                            \
  {"MPI_" #name, CallKind::kind, CallShape::shape, []() constexpr {using enum Role; \
  constexpr Role roles[] = {Skip __VA_OPT__(, ) __VA_ARGS__};                       \
  return static_cast<uint8_t>(sizeof(roles) / sizeof(roles[0]) - 1);                \
  }                                                                                 \
  (), []() constexpr {                                                              \
    using enum Role;                                                                \
    return internal::HasRequest(__VA_ARGS__);                                       \
  }                                                                                 \
  ()                                                                                \
  }                                                                                 \
  ,
#include "proto/calls_mpi.def"
#undef DDBG_MPI
};
inline constexpr size_t kCallCount = sizeof(kCalls) / sizeof(kCalls[0]);

enum class MpiCall : uint16_t {
#define DDBG_MPI(name, ...) name,
#include "proto/calls_mpi.def"
#undef DDBG_MPI
};

constexpr uint16_t CallId(MpiCall call) { return static_cast<uint16_t>(kFirstCall + static_cast<uint16_t>(call)); }

// Frequent kinds go to the bulk lane, so that a flood of them cannot push out what a verdict needs.
constexpr LaneId LaneOf(CallKind kind) {
  switch (kind) {
    case CallKind::Send:
    case CallKind::Recv:
    case CallKind::Sendrecv:
    case CallKind::Probe:
    case CallKind::Mrecv:
    case CallKind::Start:
    case CallKind::Wait:
    case CallKind::Test:
    case CallKind::RequestFree:
    case CallKind::Cancel: return kBulkLane;
    default: return kVitalLane;
  }
}

// True for calls that take a sequence number on a communicator.
constexpr bool IsCollective(CallKind kind) { return kind == CallKind::Collective || kind == CallKind::CommCreate; }

}  // namespace ddbg
