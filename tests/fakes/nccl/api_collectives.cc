// Entry points of collectives, sends and receives.
#include "tests/fakes/core/settings.h"
#include "tests/fakes/nccl/abi.h"
#include "tests/fakes/nccl/arithmetic.h"
#include "tests/fakes/nccl/group.h"

namespace nullnccl {
namespace {

using Stream = void*;

// The reduction op of a call: one of NCCL's, or one that the client made for this communicator.
Result FindOp(ncclComm& comm, Operation* operation) {
  if (operation->op < 0) return FailInGroup(kInvalidArgument, "invalid reduction operation");
  if (operation->op < kFirstCustomOp) return kSuccess;
  std::lock_guard lock(comm.mutex);
  auto found = comm.custom_ops.find(operation->op);
  if (found == comm.custom_ops.end())
    return FailInGroup(kInvalidArgument, "reduction operation unknown to the communicator");
  if (found->second.type != operation->type)
    return FailInGroup(kInvalidArgument, "reduction operation of another data type");
  operation->custom = found->second;
  return kSuccess;
}

Result CheckBuffers(const ncclComm& comm, const Operation& operation) {
  Kind kind = operation.kind;
  bool root = comm.rank == operation.peer;
  bool sends = kind == Kind::kBroadcast ? root : kind != Kind::kRecv;
  bool receives = kind == Kind::kReduce ? root : kind != Kind::kSend;
  if (!operation.count) return kSuccess;
  if (sends && !operation.send) return FailInGroup(kInvalidArgument, "sendbuff is NULL");
  if (receives && !operation.recv) return FailInGroup(kInvalidArgument, "recvbuff is NULL");
  return kSuccess;
}

// What a call does with its arguments, before any peer is asked.
Result Check(const char* call, ncclComm* handle, Comm* comm, Operation* operation) {
  if (Result error = EnsureReady(handle, comm)) return FailInGroup(error, LastMessage());
  nullgpu::Trace("%s comm=%p count=%zu type=%d op=%d peer=%d", call, static_cast<void*>(handle), operation->count,
                 operation->type, operation->op, operation->peer);
  if (!SizeOf(operation->type)) return FailInGroup(kInvalidArgument, "invalid data type");
  if (operation->peer < 0 || operation->peer >= (*comm)->ranks)
    return FailInGroup(kInvalidArgument, "invalid root or peer");
  if (Result error = FindOp(**comm, operation)) return error;
  return CheckBuffers(**comm, *operation);
}

// A collective of count 0 ends here, with success, whatever the peers do.
Result Submit(const char* call, ncclComm* handle, Stream stream, Operation operation) {
  Comm comm;
  if (Result error = Check(call, handle, &comm, &operation)) return error;
  if (IsCollective(operation.kind) && !operation.count) return kSuccess;
  return SubmitOperation(comm, stream, operation);
}

// Sends a block to each of `to`, receives one from each of `from`, as one group. Blocks of `send` are for the ranks in
// order.
struct Exchange {
  bool sends_to_all, receives_from_all;
  int root;  // to or from whom, where it is not all
};

Result SubmitExchange(const char* call, ncclComm* handle, Stream stream, const void* send, void* recv, size_t count,
                      int type, const Exchange& exchange) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm)) return FailInGroup(error, LastMessage());
  if (!SizeOf(type)) return FailInGroup(kInvalidArgument, "invalid data type");
  if (exchange.root < 0 || exchange.root >= comm->ranks) return FailInGroup(kInvalidArgument, "invalid root");
  nullgpu::Trace("%s comm=%p count=%zu type=%d root=%d", call, static_cast<void*>(handle), count, type, exchange.root);
  if (!count) return kSuccess;
  size_t block = count * SizeOf(type);
  bool is_root = comm->rank == exchange.root;
  GroupEnter();
  for (int peer = 0; peer < comm->ranks; ++peer) {
    bool to_peer = exchange.sends_to_all ? (exchange.receives_from_all || is_root) : peer == exchange.root;
    bool from_peer = exchange.receives_from_all ? (exchange.sends_to_all || is_root) : peer == exchange.root;
    const char* from = static_cast<const char*>(send) + (exchange.sends_to_all ? peer * block : 0);
    char* to = static_cast<char*>(recv) + (exchange.receives_from_all ? peer * block : 0);
    if (to_peer) SubmitOperation(comm, stream, {Kind::kSend, from, nullptr, count, type, kSum, peer});
    if (from_peer) SubmitOperation(comm, stream, {Kind::kRecv, nullptr, to, count, type, kSum, peer});
  }
  return GroupLeave();
}

}  // namespace
}  // namespace nullnccl

using namespace nullnccl;

NCCL_API(int, ncclAllReduce, const void* send, void* recv, size_t count, int type, int op, ncclComm* comm,
         Stream stream) {
  return Submit("ncclAllReduce", comm, stream, {Kind::kAllReduce, send, recv, count, type, op});
}

NCCL_API(int, ncclReduce, const void* send, void* recv, size_t count, int type, int op, int root, ncclComm* comm,
         Stream stream) {
  return Submit("ncclReduce", comm, stream, {Kind::kReduce, send, recv, count, type, op, root});
}

NCCL_API(int, ncclBroadcast, const void* send, void* recv, size_t count, int type, int root, ncclComm* comm,
         Stream stream) {
  return Submit("ncclBroadcast", comm, stream, {Kind::kBroadcast, send, recv, count, type, kSum, root});
}

// Through the PLT, as the real one: who interposes ncclBroadcast sees it twice.
NCCL_API(int, ncclBcast, void* buffer, size_t count, int type, int root, ncclComm* comm, Stream stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

NCCL_API(int, ncclAllGather, const void* send, void* recv, size_t count, int type, ncclComm* comm, Stream stream) {
  return Submit("ncclAllGather", comm, stream, {Kind::kAllGather, send, recv, count, type});
}

NCCL_API(int, ncclReduceScatter, const void* send, void* recv, size_t count, int type, int op, ncclComm* comm,
         Stream stream) {
  return Submit("ncclReduceScatter", comm, stream, {Kind::kReduceScatter, send, recv, count, type, op});
}

NCCL_API(int, ncclAlltoAll, const void* send, void* recv, size_t count, int type, ncclComm* comm, Stream stream) {
  return SubmitExchange("ncclAlltoAll", comm, stream, send, recv, count, type, {true, true, 0});
}

NCCL_API(int, ncclGather, const void* send, void* recv, size_t count, int type, int root, ncclComm* comm,
         Stream stream) {
  return SubmitExchange("ncclGather", comm, stream, send, recv, count, type, {false, true, root});
}

NCCL_API(int, ncclScatter, const void* send, void* recv, size_t count, int type, int root, ncclComm* comm,
         Stream stream) {
  return SubmitExchange("ncclScatter", comm, stream, send, recv, count, type, {true, false, root});
}

NCCL_API(int, ncclSend, const void* send, size_t count, int type, int peer, ncclComm* comm, Stream stream) {
  return Submit("ncclSend", comm, stream, {Kind::kSend, send, nullptr, count, type, kSum, peer});
}

NCCL_API(int, ncclRecv, void* recv, size_t count, int type, int peer, ncclComm* comm, Stream stream) {
  return Submit("ncclRecv", comm, stream, {Kind::kRecv, nullptr, recv, count, type, kSum, peer});
}
