// Entry points of groups, versions and messages.
#include <string.h>

#include "tests/fakes/nccl/abi.h"
#include "tests/fakes/nccl/faults.h"
#include "tests/fakes/nccl/group.h"

using namespace nullnccl;

NCCL_API(int, ncclGroupStart, void) {
  GroupEnter();
  return kSuccess;
}

NCCL_API(int, ncclGroupEnd, void) { return GroupLeave(); }

// Ends the group and starts nothing of it.
NCCL_API(int, ncclGroupSimulateEnd, SimInfo* info) {
  constexpr unsigned kSimInfoMagic = 0x74685283;
  Result result = GroupDrop();
  if (result || !info) return result;
  if (info->magic != kSimInfoMagic)
    return Fail(kInvalidArgument, "ncclSimInfo_t argument not initialized via NCCL_SIM_INFO_INITIALIZER");
  info->estimated_time = 1.0f;
  return kSuccess;
}

NCCL_API(int, ncclGetVersion, int* version) {
  if (!version) return Fail(kInvalidArgument, "version is NULL");
  *version = GetFaults().version;
  return kSuccess;
}

NCCL_API(const char*, ncclGetErrorString, int result) {
  switch (result) {
    case kSuccess: return "no error";
    case kUnhandledCudaError: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case kSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case kInternalError: return "internal error - please report this issue to the NCCL developers";
    case kInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case kInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case kRemoteError: return "remote process exited or there was a network error";
    case kInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}

NCCL_API(const char*, ncclGetLastError, ncclComm*) { return LastMessage(); }

NCCL_API(void, ncclResetDebugInit, void) {}
