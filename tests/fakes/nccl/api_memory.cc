// Entry points for buffers, windows, reduction ops, one-sided operations and the device-side communicator.
#include <string.h>

#include "tests/fakes/core/device.h"
#include "tests/fakes/core/memory.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/nccl/abi.h"
#include "tests/fakes/nccl/arithmetic.h"
#include "tests/fakes/nccl/create.h"
#include "tests/fakes/nccl/group.h"

namespace nullnccl {
namespace {

using Stream = void*;

// Host work that only meets the other ranks.
Result Meeting(const Comm& comm) {
  uint64_t step = ++comm->host_step;
  return SubmitJob({comm, comm->blocking, [raw = comm.get(), step] {
                      Told told;
                      return MeetOnHost(*raw, step, 0, 0, &told);
                    }});
}

Result SubmitOneSided(ncclComm* handle, Stream stream, Operation operation, int signal, int context, unsigned flags) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm)) return FailInGroup(error, LastMessage());
  if (operation.peer < 0 || operation.peer >= comm->ranks) return FailInGroup(kInvalidArgument, "invalid peer");
  if (signal || context || flags) return FailInGroup(kInvalidArgument, "signal, context and flags must be 0");
  if (operation.kind == Kind::kSignal) operation.count = 0;
  return SubmitOperation(comm, stream, operation);
}

}  // namespace
}  // namespace nullnccl

using namespace nullnccl;

NCCL_API(int, ncclMemAlloc, void** pointer, size_t bytes) {
  *pointer = nullgpu::Allocate(nullgpu::CurrentDevice(), bytes, nullgpu::MemoryKind::kDevice);
  return *pointer ? kSuccess : Fail(kUnhandledCudaError, "Cuda failure 2 'out of memory'");
}

NCCL_API(int, ncclMemFree, void* pointer) {
  return nullgpu::Free(pointer) ? Fail(kUnhandledCudaError, "Cuda failure 1 'invalid argument'") : kSuccess;
}

NCCL_API(int, ncclCommRegister, ncclComm* handle, void* buffer, size_t bytes, void** registration) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm)) return error;
  if (!buffer || !bytes || !registration) return Fail(kInvalidArgument, "invalid buffer");
  *registration = buffer;
  return kSuccess;
}

NCCL_API(int, ncclCommDeregister, ncclComm* handle, void*) {
  Comm comm;
  return EnsureReady(handle, &comm);
}

NCCL_API(int, ncclCommWindowRegister, ncclComm* handle, void* buffer, size_t bytes, ncclWindow_vidmem** window,
         int flags) {
  Comm comm;
  nullgpu::Trace("ncclCommWindowRegister comm=%p bytes=%zu flags=%d", static_cast<void*>(handle), bytes, flags);
  if (Result error = EnsureReady(handle, &comm)) return FailInGroup(error, LastMessage());
  if (!window || !buffer || !bytes) return FailInGroup(kInvalidArgument, "invalid buffer");
  if (reinterpret_cast<uintptr_t>(buffer) % kWindowAlignment) {
    return FailInGroup(kInvalidArgument, "a window must be aligned to 4096 bytes");
  }
  {
    std::lock_guard lock(comm->mutex);
    int number = static_cast<int>(comm->windows.size());
    *window = comm->windows.emplace_back(new ncclWindow_vidmem{number, buffer, bytes}).get();
  }
  return Meeting(comm);
}

NCCL_API(int, ncclCommWindowDeregister, ncclComm* handle, ncclWindow_vidmem* window) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm, true)) return FailInGroup(error, LastMessage());
  if (!window) return kSuccess;
  {
    std::lock_guard lock(comm->mutex);
    size_t number = static_cast<size_t>(window->number);
    if (number >= comm->windows.size() || comm->windows[number].get() != window) {
      return FailInGroup(kInvalidArgument, "no window of the communicator");
    }
    comm->windows[number] = nullptr;
  }
  return Meeting(comm);
}

NCCL_API(int, ncclWinGetUserPtr, ncclComm* handle, ncclWindow_vidmem* window, void** pointer) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm)) return error;
  if (!window || !pointer) return Fail(kInvalidArgument, "window is NULL");
  *pointer = window->base;
  return kSuccess;
}

NCCL_API(int, ncclRedOpCreatePreMulSum, int* op, void* scalar, int type, int residence, ncclComm* handle) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm)) return error;
  if (!op || !scalar || !SizeOf(type)) return Fail(kInvalidArgument, "invalid scalar or data type");
  CustomOp custom = {type, nullptr, {}};
  if (residence == 0) {  // ncclScalarDevice: read when the collective runs
    custom.device_scalar = scalar;
  } else {
    memcpy(custom.value, scalar, SizeOf(type));
  }
  std::lock_guard lock(comm->mutex);
  *op = comm->next_custom_op++;
  comm->custom_ops[*op] = custom;
  return kSuccess;
}

NCCL_API(int, ncclRedOpDestroy, int op, ncclComm* handle) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm)) return error;
  if (op < kFirstCustomOp) return Fail(kInvalidArgument, "a built-in reduction operation is not destroyed");
  std::lock_guard lock(comm->mutex);
  return comm->custom_ops.erase(op) ? kSuccess : Fail(kInvalidArgument, "no such reduction operation");
}

NCCL_API(int, ncclPutSignal, const void* buffer, size_t count, int type, int peer, ncclWindow_vidmem* window,
         size_t offset, int signal, int context, unsigned flags, ncclComm* comm, Stream stream) {
  if (!window || !buffer || !SizeOf(type)) return FailInGroup(kInvalidArgument, "invalid buffer, data type or window");
  Operation operation{Kind::kPutSignal, buffer, nullptr, count, type, kSum, peer, {}, window->number, offset};
  return SubmitOneSided(comm, stream, operation, signal, context, flags);
}

NCCL_API(int, ncclSignal, int peer, int signal, int context, unsigned flags, ncclComm* comm, Stream stream) {
  return SubmitOneSided(comm, stream, {Kind::kSignal, nullptr, nullptr, 0, kInt8, kSum, peer}, signal, context, flags);
}

NCCL_API(int, ncclWaitSignal, int count, WaitSignalDescription* descriptions, ncclComm* comm, Stream stream) {
  if (count < 1 || !descriptions) return FailInGroup(kInvalidArgument, "nothing to wait for");
  GroupEnter();
  for (int i = 0; i < count; ++i) {
    const WaitSignalDescription& one = descriptions[i];
    Operation operation{Kind::kWaitSignal, nullptr, nullptr, static_cast<size_t>(one.count), kInt8, kSum, one.peer};
    SubmitOneSided(comm, stream, operation, one.signal, one.context, 0);
  }
  return GroupLeave();
}

// Of ncclDevComm_t, which kernels get, only the first two fields (rank and number of ranks) are filled in.
NCCL_API(int, ncclDevCommCreate, ncclComm* handle, const void*, int* device_comm) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm)) return FailInGroup(error, LastMessage());
  if (!device_comm) return FailInGroup(kInvalidArgument, "outDevComm is NULL");
  device_comm[0] = comm->rank;
  device_comm[1] = comm->ranks;
  return Meeting(comm);
}

NCCL_API(int, ncclDevCommDestroy, ncclComm* handle, const void*) {
  Comm comm;
  return EnsureReady(handle, &comm, true);
}
