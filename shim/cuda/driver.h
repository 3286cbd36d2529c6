// The CUDA driver's library, libcuda.so.1, as far as ddbg meets it.
//
// Its functions are wrapped only if DDBG_CUDA_DRIVER=1. libddbg.so exports them in any case, since what a preloaded
// library exports is settled when it is linked; a program that was linked with -lcuda comes by them, and with the
// switch off they go on to the real function at once.
//
// Every other way to the driver begins with dlsym(handle, "cuGetProcAddress_v2"), also that of a runtime that is linked
// statically (nccl-cuda.md B5): with the switch on the dlsym hook answers with our cuGetProcAddress. That asks the real
// one first, with all arguments as they came. To what it gives, a wrapper is bound if the function's arguments are
// known: by the name asked for, the version of CUDA and the stream flag. Anything else is handed on as it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "proto/call.h"
#include "shim/cuda/abi.h"
#include "shim/interpose/library_copies.h"

namespace ddbg::shim::cuda {

extern LibraryCopies g_driver_copies;  // functions by DriverIndex and DriverQuestion

constexpr uint32_t DriverIndex(CudaDriverCall call, bool per_thread = false) {
  return static_cast<uint32_t>(call) + (per_thread ? static_cast<uint32_t>(CudaDriverCall::kCount) : 0);
}
inline constexpr uint32_t kDriverFunctions = 2 * static_cast<uint32_t>(CudaDriverCall::kCount);

enum DriverQuestion : uint32_t {
  kLookUp = kDriverFunctions,  // cuGetProcAddress
  kLookUpV2,
  kCtxGetDevice,
  kDeviceGetBusId,
  kCuFuncGetName,
  kCuKernelGetName,
  kDriverGetVersion,
  kDriverNames
};

// Of this process; the environment is read once. Any thread, also before there is a recorder.
bool IsDriverLevelOn() noexcept;

// The loaded libcuda.so.1; nullptr: none. Loads nothing.
LibraryCopy* Driver() noexcept;

// Asked of it; -1, false, nullptr, 0: it does not say. Calls of the driver leave no error behind.
int32_t CurrentDriverDevice() noexcept;
bool DriverBusIdOf(int32_t device, char* bus_id, int bytes) noexcept;
const char* DriverKernelName(uint64_t function) noexcept;  // a CUfunction or CUkernel
int32_t DriverVersion() noexcept;                          // 13000

// The wrapper that calls the real function bound to `index` (DriverIndex): driver_wrappers.cc.
extern void* const kBoundWrappers[kDriverFunctions];
extern std::atomic<void*> g_bound[kDriverFunctions];

}  // namespace ddbg::shim::cuda
