// The calls ddbg knows, read from the .def tables: ids, names, kinds, shapes and the role of each argument.
// Everything here is constexpr and shared by the shim (which builds wrappers from the roles) and the analyzer
// (which compares calls by kind and shape).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/ring_layout.h"

namespace ddbg {

enum class Api : uint8_t { Mpi, Nccl, Cuda, CudaDriver, Ddbg, Gloo };

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
  CollectiveInit,  // a persistent collective; what is started has a communicator of kind "persistent" of its own
  PartReady,       // part of a partitioned send may go
  PartArrived,     // is part of a partitioned receive there?
  RequestStatus,   // asks for a request without completing it
  GrequestStart,
  GrequestComplete,
  BufferAttach,
  BufferDetach,  // waits for the messages in it, as a flush does
  BufferFlush,
  SessionInit,
  SessionFinalize,
  Spawn,
  Connect,     // makes an inter-communicator with processes of another world
  Disconnect,  // frees a communicator, once all members have come and what they began on it is over
  CommParent,  // the communicator with those that spawned this one
  Port,        // opens, closes or names a place to connect to
  // MPI's windows and files have a communicator definition of kind "window" or "file": members, sequence numbers
  WinCreate,
  WinFree,
  Fence,
  Epoch,  // of post, start, complete and wait
  Lock,
  Unlock,
  Flush,  // completes what was put into a window, at both ends or here
  Rma,
  FileOpen,
  FileClose,
  FileDelete,
  FileCollective,
  FileAccess,  // of one rank alone
  SplitBegin,
  SplitEnd,
  // NCCL
  UniqueId,      // makes the id of a communicator to come
  CommInit,      // ends when all ranks of the new communicator have called
  CommFinalize,  // flushes a communicator
  CommAbort,
  CommRevoke,
  AsyncError,  // asks how a communicator is
  GroupStart,
  GroupEnd,  // operations since GroupStart begin here, and errors and waits of theirs show here
  Register,  // of memory, local
  Deregister,
  OpCreate,  // a reduction operator
  OpFree,
  OneSided,  // writes to a peer's window, signals a peer, or waits for signals
  // Marks of the program (shim/ddbg.h): no calls that do anything
  Step,
  PhaseBegin,
  PhaseEnd,
  Control,  // MPI_Pcontrol
  Value,    // a number that the program has
  Event,    // something that happened in it
  // CUDA
  Launch,
  GraphLaunch,
  HostCallback,  // a host function in stream order
  Copy,
  Fill,
  Alloc,
  Free,
  DeviceSet,
  StreamCreate,
  StreamDestroy,
  StreamQuery,
  StreamSync,
  StreamWait,  // what follows on a stream waits for an event
  EventCreate,
  EventDestroy,
  EventRecord,
  EventQuery,
  EventSync,
  DeviceSync,
  CaptureBegin,
  CaptureEnd,
  GraphCreate,  // an executable graph
  GraphDestroy,
  Detail,  // of NCCL: how an operation is carried out; no call
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
  Same,         // count × type, and root and op where the call has them, are equal on all members
  SameRoot,     // the same, and the root's own count decides
  Buffered,     // a send that never waits for its receiver
  One,
  All,
  Any,
  Some,      // Wait*, Test*
  Async,     // CUDA: returns before the device has done it
  Blocking,  // CUDA: waits for the device, or may
  Simulate,  // ncclGroupSimulateEnd: ends a group of which nothing is done
  Partitioned,
  Range,  // of partitions
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
  Displs,   // array of displacements, one a member; of a rooted call the root's alone means something
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
  RequestValue,  // the handle itself
  LargeCount,    // 64 bits whatever the function's name
  Partitions,    // a number that the count is multiplied by
  Low,
  High,     // of a range, both in it
  TextTag,  // the tag of Comm_create_from_group
  NewSession,
  Win,
  WinHandle,
  NewWin,
  LockType,
  Offset,  // in the target's window or in the file, 64 bits
  File,
  FileHandle,
  NewFile,
  AccessMode,
  // NCCL
  RankCount,
  OwnRank,
  UniqueIdValue,  // ncclUniqueId by value: 128 bytes on the stack
  UniqueIds,      // address of one or more
  IdCount,
  Config,
  Exclude,  // ranks that a shrunk communicator leaves out
  ExcludeCount,
  Devices,
  State,  // address of an ncclResult_t
  Bytes,
  NewOp,  // address of an ncclRedOp_t
  Scalar,
  // CUDA
  Stream,
  NewStream,
  Event,
  NewEvent,
  Pointer,     // of the device or of pinned memory
  NewPointer,  // address of one
  CopyKind,
  Width,
  Height,        // bytes are their product
  Copy3D,        // address of a cudaMemcpy3DParms
  PeerCopy3D,    // of a cudaMemcpy3DPeerParms
  DriverCopy2D,  // of a CUDA_MEMCPY2D
  DriverCopy3D,  // of a CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER
  DestDevice,
  SourceDevice,
  Function,  // as the host program knows a kernel
  Kernel,    // cudaKernel_t or CUfunction
  GridXY,
  GridX,
  GridY,
  GridZ,
  BlockXY,
  BlockX,
  BlockY,
  BlockZ,  // dim3 by value takes two words: XY and Z
  LaunchConfig,
  Graph,
  NewGraph,
  Device,
  StreamFlags,
  Priority,
  CaptureMode,
};

struct CallInfo {
  std::string_view name;  // "MPI_Send", "ncclAllReduce"
  Api api;
  CallKind kind;
  CallShape shape;
  uint8_t arguments;  // words; but an ncclUniqueId by value counts as one
  bool has_request;   // non-blocking: gives a request back
};

namespace internal {
template <class... R>
constexpr CallInfo MakeCall(std::string_view name, Api api, CallKind kind, CallShape shape, R... roles) {
  return {name, api, kind, shape, sizeof...(R), ((roles == Role::Request) || ... || false)};
}
}  // namespace internal

// Index 0 is call id kFirstCall.
inline constexpr CallInfo kCalls[] = {
#define DDBG_CALL(api, name, kind, shape, ...)                                                              \
  []() constexpr {                                                                                          \
    using enum Role;                                                                                        \
    return internal::MakeCall(name, Api::api, CallKind::kind, CallShape::shape __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                                         \
  (),
#include "proto/calls_all.def"
#undef DDBG_CALL
};
inline constexpr size_t kCallCount = sizeof(kCalls) / sizeof(kCalls[0]);

enum class MpiCall : uint16_t {
#define DDBG_MPI(name, ...) name,
#include "proto/calls_mpi.def"
#undef DDBG_MPI
  kCount
};
enum class NcclCall : uint16_t {
#define DDBG_NCCL(name, ...) name,
#include "proto/calls_nccl.def"
#undef DDBG_NCCL
  kCount
};
enum class CudaCall : uint16_t {
#define DDBG_CUDA(name, ...) name,
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
  kCount
};
enum class CudaDriverCall : uint16_t {
#define DDBG_CU(name, ...) name,
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
  kCount
};
enum class MarkCall : uint16_t {
#define DDBG_MARK(api, name, ...) name,
#include "proto/calls_marks.def"
#undef DDBG_MARK
  kCount
};

enum class GlooCall : uint16_t {
#define DDBG_GLOO(name, ...) name,
#include "proto/calls_gloo.def"
#undef DDBG_GLOO
  kCount
};

// Index into kCalls.
constexpr size_t CallIndex(MpiCall call) { return static_cast<size_t>(call); }
constexpr size_t CallIndex(NcclCall call) { return CallIndex(MpiCall::kCount) + static_cast<size_t>(call); }
constexpr size_t CallIndex(CudaCall call) { return CallIndex(NcclCall::kCount) + static_cast<size_t>(call); }
constexpr size_t CallIndex(CudaDriverCall call) { return CallIndex(CudaCall::kCount) + static_cast<size_t>(call); }
constexpr size_t CallIndex(MarkCall call) { return CallIndex(CudaDriverCall::kCount) + static_cast<size_t>(call); }
constexpr size_t CallIndex(GlooCall call) { return CallIndex(MarkCall::kCount) + static_cast<size_t>(call); }
static_assert(CallIndex(GlooCall::kCount) == kCallCount);

template <class AnyCall>
constexpr uint16_t CallId(AnyCall call) {
  return static_cast<uint16_t>(kFirstCall + CallIndex(call));
}

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
    case CallKind::Cancel:
    case CallKind::PartReady:
    case CallKind::PartArrived:
    case CallKind::RequestStatus:
    case CallKind::GrequestStart:
    case CallKind::GrequestComplete:
    case CallKind::Epoch:
    case CallKind::Lock:
    case CallKind::Unlock:
    case CallKind::Flush:
    case CallKind::Rma:
    case CallKind::FileAccess:
    case CallKind::AsyncError: return kBulkLane;
    default: return kind >= CallKind::Launch ? kBulkLane : kVitalLane;
  }
}

// A word of the program about itself: nothing waits for it and nothing follows from it.
constexpr bool IsMark(CallKind kind) { return kind >= CallKind::Step && kind <= CallKind::Event; }

// True for calls that take a sequence number on a communicator, window or file. Starts of persistent collectives do so
// too (IsCollectiveStart in operations.h).
constexpr bool IsCollective(CallKind kind) {
  switch (kind) {
    case CallKind::Collective:
    case CallKind::CommCreate:
    case CallKind::CollectiveInit:
    case CallKind::Spawn:
    case CallKind::Connect:
    case CallKind::Disconnect:
    case CallKind::WinCreate:
    case CallKind::WinFree:
    case CallKind::Fence:
    case CallKind::FileOpen:
    case CallKind::FileClose:
    case CallKind::FileCollective:
    case CallKind::SplitBegin:
    case CallKind::SplitEnd: return true;
    default: return false;
  }
}

}  // namespace ddbg
