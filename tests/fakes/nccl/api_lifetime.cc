// Entry points that end communicators and ask them for what they are.
#include "tests/fakes/core/settings.h"
#include "tests/fakes/nccl/abi.h"
#include "tests/fakes/nccl/comm.h"
#include "tests/fakes/nccl/group.h"

using namespace nullnccl;

// Local, unlike the real one, which also waits until the peers are quiet.
NCCL_API(int, ncclCommFinalize, ncclComm* handle) {
  nullgpu::Trace("ncclCommFinalize %p", static_cast<void*>(handle));
  Comm comm;
  if (Result error = EnsureReady(handle, &comm)) return error;
  return SubmitJob({comm, comm->blocking, [raw = comm.get()] {
                      Drain(*raw);
                      return kSuccess;
                    }});
}

// Waits for what is queued, and for graphs that hold operations of the communicator to be destroyed: a program that
// never destroys them hangs here, as with the real one.
NCCL_API(int, ncclCommDestroy, ncclComm* handle) {
  nullgpu::Trace("ncclCommDestroy %p", static_cast<void*>(handle));
  if (!handle) return kSuccess;
  Comm comm = FindComm(handle);
  if (!comm) return Fail(kInvalidArgument, "the communicator was destroyed before");
  if (comm->revoked) StopDeviceWork(*comm);
  Drain(*comm);
  Forget(handle);
  return kSuccess;
}

NCCL_API(int, ncclCommAbort, ncclComm* handle) {
  nullgpu::Trace("ncclCommAbort %p", static_cast<void*>(handle));
  if (!handle) return kSuccess;
  Comm comm = FindComm(handle);
  if (!comm) return Fail(kInvalidArgument, "the communicator was destroyed before");
  comm->aborted = true;
  StopDeviceWork(*comm);
  Forget(handle);
  return kSuccess;
}

NCCL_API(int, ncclCommRevoke, ncclComm* handle, int flags) {
  nullgpu::Trace("ncclCommRevoke %p", static_cast<void*>(handle));
  Comm comm;
  if (flags) return Fail(kInvalidArgument, "revokeFlags must be 0");
  if (Result error = EnsureReady(handle, &comm)) return error;
  comm->revoked = true;
  StopDeviceWork(*comm);
  return kSuccess;
}

NCCL_API(int, ncclCommGetAsyncError, ncclComm* handle, int* error) {
  Comm comm = FindComm(handle);
  if (!comm || !error) return Fail(kInvalidArgument, "the communicator or asyncError is NULL");
  *error = comm->state;
  return kSuccess;
}

NCCL_API(int, ncclCommCount, ncclComm* handle, int* count) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm, true)) return error;
  *count = comm->ranks;
  return kSuccess;
}

NCCL_API(int, ncclCommCuDevice, ncclComm* handle, int* device) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm, true)) return error;
  *device = comm->device;
  return kSuccess;
}

NCCL_API(int, ncclCommUserRank, ncclComm* handle, int* rank) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm, true)) return error;
  *rank = comm->rank;
  return kSuccess;
}

// Memory is not really given back: the calls only have their order checked.
NCCL_API(int, ncclCommSuspend, ncclComm* handle, int) {
  Comm comm;
  return EnsureReady(handle, &comm);
}

NCCL_API(int, ncclCommResume, ncclComm* handle) {
  Comm comm;
  return EnsureReady(handle, &comm);
}

NCCL_API(int, ncclCommMemStats, ncclComm* handle, int, uint64_t* value) {
  Comm comm;
  if (Result error = EnsureReady(handle, &comm)) return error;
  if (!value) return Fail(kInvalidArgument, "value is NULL");
  *value = 0;
  return kSuccess;
}
