#include "shim/cuda/runtime.h"

#include <dlfcn.h>
#include <string.h>

#include "proto/call.h"

namespace ddbg::shim::cuda {
namespace {

constexpr const char* kNames[] = {
#define DDBG_CUDA(name, ...) #name,
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
};

using GetDevice = int(int*);
using GetBusId = int(char*, int, int);

struct Functions {
  GetDevice* runtime_device = nullptr;
  GetBusId* runtime_bus_id = nullptr;
  GetDevice* driver_device = nullptr;
  GetBusId* driver_bus_id = nullptr;
};

// nullptr where it is not loaded: neither library may be loaded by us.
void* InDriver(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver ? dlsym(driver, name) : nullptr;
}

void* InRuntime(const char* name) {
  LibraryCopy* copy = g_copies.Any();
  return copy ? dlsym(copy->handle, name) : nullptr;
}

// Looked up until they are there: the runtime may be loaded after the first call of NCCL.
const Functions& Known() {
  static constinit std::atomic<bool> ready{false};
  static constinit Functions functions;
  if (ready.load(std::memory_order_acquire)) return functions;
  Functions found;
  found.runtime_device = reinterpret_cast<GetDevice*>(InRuntime("cudaGetDevice"));
  found.runtime_bus_id = reinterpret_cast<GetBusId*>(InRuntime("cudaDeviceGetPCIBusId"));
  if (!found.runtime_device) {
    found.driver_device = reinterpret_cast<GetDevice*>(InDriver("cuCtxGetDevice"));
    found.driver_bus_id = reinterpret_cast<GetBusId*>(InDriver("cuDeviceGetPCIBusId"));
  }
  dlerror();
  if (!found.runtime_device && !found.driver_device) return functions;
  functions = found;  // every thread that comes here writes the same
  ready.store(true, std::memory_order_release);
  return functions;
}

}  // namespace

constinit LibraryCopies g_copies(kNames, static_cast<uint32_t>(CudaCall::kCount), "cudaRuntimeGetVersion");

int32_t CurrentDevice() noexcept {
  const Functions& functions = Known();
  GetDevice* get = functions.runtime_device ? functions.runtime_device : functions.driver_device;
  int device = -1;
  return get && get(&device) == 0 ? device : -1;
}

bool BusIdOf(int32_t device, char (&bus_id)[kBusIdBytes]) noexcept {
  const Functions& functions = Known();
  GetBusId* get = functions.runtime_bus_id ? functions.runtime_bus_id : functions.driver_bus_id;
  return get && device >= 0 && get(bus_id, kBusIdBytes, device) == 0;
}

}  // namespace ddbg::shim::cuda
