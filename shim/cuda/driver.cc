#include "shim/cuda/driver.h"

#include <dlfcn.h>
#include <errno.h>

#include "shim/recorder/settings.h"

namespace ddbg::shim::cuda {
namespace {

constexpr const char* kNames[] = {
#define DDBG_CU(name, ...) #name,
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
#define DDBG_NAME_Plain(name) #name
#define DDBG_NAME__ptsz(name) #name "_ptsz"
#define DDBG_NAME__ptds(name) #name "_ptds"
#define DDBG_CU(name, suffix, ...) DDBG_NAME_##suffix(name),
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
    "cuGetProcAddress", "cuGetProcAddress_v2", "cuCtxGetDevice",     "cuDeviceGetPCIBusId",
    "cuFuncGetName",    "cuKernelGetName",     "cuDriverGetVersion",
};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == kDriverNames);

template <class Function>
Function* DriverFunction(uint32_t index) {
  LibraryCopy* copy = Driver();
  return copy ? reinterpret_cast<Function*>(g_driver_copies.Function(*copy, index)) : nullptr;
}

}  // namespace

constinit LibraryCopies g_driver_copies(kNames, kDriverNames, "cuDriverGetVersion");
constinit std::atomic<void*> g_bound[kDriverFunctions] = {};

bool IsDriverLevelOn() noexcept {
  enum : int { kUnknown, kOff, kOn };
  static constinit std::atomic<int> level{kUnknown};
  int now = level.load(std::memory_order_relaxed);
  if (now == kUnknown) [[unlikely]] {
    now = !IsSwitchedOff() && WantsCudaDriver() ? kOn : kOff;
    level.store(now, std::memory_order_relaxed);
  }
  return now == kOn;
}

LibraryCopy* Driver() noexcept {
  static constinit std::atomic<LibraryCopy*> found{nullptr};
  LibraryCopy* copy = found.load(std::memory_order_acquire);
  if (copy) return copy;
  int saved_errno = errno;
  if (void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
    copy = g_driver_copies.Holding(dlsym(handle, "cuDriverGetVersion"));
    if (copy) found.store(copy, std::memory_order_release);
    dlclose(handle);
  }
  dlerror();
  errno = saved_errno;
  return copy;
}

int32_t CurrentDriverDevice() noexcept {
  auto* get = DriverFunction<int(int*)>(kCtxGetDevice);
  int device = -1;
  return get && get(&device) == kSuccess ? device : -1;
}

bool DriverBusIdOf(int32_t device, char* bus_id, int bytes) noexcept {
  auto* get = DriverFunction<int(char*, int, int)>(kDeviceGetBusId);
  return get && device >= 0 && get(bus_id, bytes, device) == kSuccess;
}

const char* DriverKernelName(uint64_t function) noexcept {
  for (uint32_t question : {kCuFuncGetName, kCuKernelGetName}) {
    auto* get = DriverFunction<int(const char**, uint64_t)>(question);
    const char* name = nullptr;
    if (get && get(&name, function) == kSuccess && name) return name;
  }
  return nullptr;
}

int32_t DriverVersion() noexcept {
  auto* get = DriverFunction<int(int*)>(kDriverGetVersion);
  int version = 0;
  return get && get(&version) == kSuccess ? version : 0;
}

}  // namespace ddbg::shim::cuda
