// The CUDA runtime of this process: its loaded copies, and the few functions of it ddbg itself calls. Those only ask,
// make no context and wait for nothing.
#pragma once

#include <cstdint>

#include "proto/call.h"
#include "shim/cuda/abi.h"
#include "shim/interpose/library_copies.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::cuda {

extern LibraryCopies g_copies;  // of libcudart; functions by FunctionIndex and Question

// `per_thread`: by the _ptsz or _ptds name. A function without such a variant is at both places.
constexpr uint32_t FunctionIndex(CudaCall call, bool per_thread = false) {
  return static_cast<uint32_t>(call) + (per_thread ? static_cast<uint32_t>(CudaCall::kCount) : 0);
}

// What ddbg asks a copy of the runtime.
enum Question : uint32_t {
  kGetDevice = 2 * static_cast<uint32_t>(CudaCall::kCount),
  kGetBusId,
  kGetVersion,
  kPeekAtLastError,
  kGetLastError,
  kFuncGetName,
  kRegisterFunction,  // __cudaRegisterFunction; no question, but wrapped by hand
  kStreamIsCapturing,
  kEventElapsedTime,
  kExchangeCaptureMode,
  kFunctions
};

template <class Function>
Function* FunctionOf(LibraryCopy& copy, uint32_t index) noexcept {
  return reinterpret_cast<Function*>(g_copies.Function(copy, index));
}

// Has the program an error to see by cudaGetLastError?
inline bool HasPendingError(LibraryCopy& copy) noexcept {
  auto* peek = FunctionOf<int()>(copy, kPeekAtLastError);
  return peek && peek() != kSuccess;
}

// Calls `ask`, which gives a cudaError_t; true: it said cudaSuccess. A failure is not what the program's
// cudaGetLastError gives next. One that the program has yet to see would be lost by it, so that then, unless `surely`
// it will not fail, nothing is asked.
template <class Ask>
bool AskQuietly(LibraryCopy& copy, bool surely, Ask ask) noexcept {
  auto* clear = FunctionOf<int()>(copy, kGetLastError);
  bool pending = HasPendingError(copy);
  if (pending && !surely) return false;
  if (ask() == kSuccess) return true;
  if (!pending && clear) clear();
  return false;
}

// Ordinal of the calling thread's device, asked for; -1: neither runtime nor driver says.
int32_t CurrentDevice() noexcept;

// The same as far as the runtime's own calls change it, at no cost: not asked again after cuCtxSetCurrent, nor after
// cudaSetDevice of a runtime that is linked statically.
struct OwnDevice {
  uint64_t token;  // of the recorder
  int32_t device;
};
extern thread_local OwnDevice g_own_device [[gnu::tls_model("initial-exec")]];
int32_t DeviceSlow(const ThreadState& t) noexcept;
[[gnu::always_inline]] inline int32_t DeviceNow(const ThreadState& t) noexcept {
  return g_own_device.token == t.token ? g_own_device.device : DeviceSlow(t);
}
// The calling thread has made `device` its own.
inline void NoteDevice(int32_t device) noexcept { g_own_device = {g_thread.token, device}; }

inline constexpr int kBusIdBytes = 16;
// "0000:3b:00.0" into `bus_id`; false: nobody says.
bool BusIdOf(int32_t device, char (&bus_id)[kBusIdBytes]) noexcept;

}  // namespace ddbg::shim::cuda
