#include "shim/cuda/runtime.h"

#include "shim/cuda/driver.h"

namespace ddbg::shim::cuda {
namespace {

constexpr const char* kNames[] = {
#define DDBG_CUDA(name, ...) #name,
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
#define DDBG_NAME_Plain(name) #name
#define DDBG_NAME__ptsz(name) #name "_ptsz"
#define DDBG_NAME__ptds(name) #name "_ptds"
#define DDBG_CUDA(name, suffix, ...) DDBG_NAME_##suffix(name),
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
    "cudaGetDevice",          "cudaDeviceGetPCIBusId",
    "cudaRuntimeGetVersion",  "cudaPeekAtLastError",
    "cudaGetLastError",       "cudaFuncGetName",
    "__cudaRegisterFunction", "cudaStreamIsCapturing",
    "cudaEventElapsedTime",   "cudaThreadExchangeStreamCaptureMode",
};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == kFunctions);

}  // namespace

constinit LibraryCopies g_copies(kNames, kFunctions, "cudaRuntimeGetVersion");
constinit thread_local OwnDevice g_own_device [[gnu::tls_model("initial-exec")]] = {};

int32_t CurrentDevice() noexcept {
  LibraryCopy* copy = g_copies.Any();
  auto* get = copy ? FunctionOf<int(int*)>(*copy, kGetDevice) : nullptr;
  if (!get) return CurrentDriverDevice();
  int device = -1;
  return AskQuietly(*copy, true, [&] { return get(&device); }) ? device : -1;
}

int32_t DeviceSlow(const ThreadState& t) noexcept {
  int32_t device = CurrentDevice();
  if (device >= 0) g_own_device = {t.token, device};
  return device;
}

bool BusIdOf(int32_t device, char (&bus_id)[kBusIdBytes]) noexcept {
  if (device < 0) return false;
  LibraryCopy* copy = g_copies.Any();
  auto* get = copy ? FunctionOf<int(char*, int, int)>(*copy, kGetBusId) : nullptr;
  if (!get) return DriverBusIdOf(device, bus_id, kBusIdBytes);
  return AskQuietly(*copy, false, [&] { return get(bus_id, kBusIdBytes, device); });
}

}  // namespace ddbg::shim::cuda
