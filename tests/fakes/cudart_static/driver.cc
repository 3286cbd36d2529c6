#include "tests/fakes/cudart_static/driver.h"

#include <dlfcn.h>

namespace nullgpu::static_runtime {
namespace {

using GetProcAddress = int (*)(const char*, void**, int, uint64_t, int*);

constexpr int kVersion = 13000;
enum Flags : uint64_t { kLegacy = 0, kPerThread = 2 };

template <class Function>
void Find(GetProcAddress get, Function** function, const char* name, int version, uint64_t flags = kLegacy) {
  void* found = nullptr;
  int status;
  if (get(name, &found, version, flags, &status)) found = nullptr;
  *function = reinterpret_cast<Function*>(found);
}

void FindStreamCalls(GetProcAddress get, StreamCalls* calls, uint64_t flags) {
  Find(get, &calls->launch, "cuLaunchKernel", kVersion, flags);
  Find(get, &calls->launch_ex, "cuLaunchKernelEx", kVersion, flags);
  Find(get, &calls->launch_cooperative, "cuLaunchCooperativeKernel", kVersion, flags);
  Find(get, &calls->graph_launch, "cuGraphLaunch", kVersion, flags);
  Find(get, &calls->synchronize, "cuStreamSynchronize", kVersion, flags);
  Find(get, &calls->copy, "cuMemcpy", kVersion, flags);
  Find(get, &calls->copy_async, "cuMemcpyAsync", kVersion, flags);
}

// In the order of the real one as far as that is known: an empty name first, then itself in both of its ABIs.
const Driver* Load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  auto get = library ? reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2")) : nullptr;
  if (!get) return nullptr;
  auto* driver = new Driver{};
  void* nothing;
  Find(get, reinterpret_cast<int (**)()>(&nothing), "", 0);
  Find(get, &driver->init, "cuInit", 2000);
  Find(get, &driver->get_proc_address_v1, "cuGetProcAddress", 11030);
  GetProcAddress newer = nullptr;
  Find(get, &newer, "cuGetProcAddress", 12000);
  if (newer) get = newer;
  Find(get, &driver->device_count, "cuDeviceGetCount", kVersion);
  Find(get, &driver->retain_context, "cuDevicePrimaryCtxRetain", kVersion);
  Find(get, &driver->set_context, "cuCtxSetCurrent", kVersion);
  Find(get, &driver->synchronize, "cuCtxSynchronize", kVersion);
  Find(get, &driver->event_synchronize, "cuEventSynchronize", kVersion);
  Find(get, &driver->allocate, "cuMemAlloc", kVersion);
  Find(get, &driver->free, "cuMemFree", kVersion);
  Find(get, &driver->load_library, "cuLibraryLoadData", kVersion);
  Find(get, &driver->get_kernel, "cuLibraryGetKernel", kVersion);
  FindStreamCalls(get, &driver->legacy, kLegacy);
  FindStreamCalls(get, &driver->per_thread, kPerThread);
  return driver->init && driver->init(0) == 0 ? driver : nullptr;
}

}  // namespace

const Driver* GetDriver() {
  static const Driver* driver = Load();
  return driver;
}

}  // namespace nullgpu::static_runtime
