#include "tests/fakes/core/kernels.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <set>

#include "tests/fakes/core/settings.h"

namespace nullgpu {
namespace {

struct Kernels {
  std::mutex mutex;
  std::map<const void*, Kernel*> by_host;
  std::map<std::string, Kernel*> by_name;
  std::set<const void*> handles;
};

Kernels& GetKernels() {
  static Kernels* kernels = new Kernels;
  return *kernels;
}

Kernel* NamedLocked(Kernels& kernels, const char* name) {
  Kernel*& kernel = kernels.by_name[name];
  if (!kernel) {
    kernel = new Kernel{name};
    kernels.handles.insert(kernel);
  }
  return kernel;
}

}  // namespace

Kernel* RegisterKernel(const void* host_function, const char* name) {
  Kernels& kernels = GetKernels();
  std::lock_guard lock(kernels.mutex);
  return kernels.by_host.emplace(host_function, NamedLocked(kernels, name)).first->second;
}

Kernel* NamedKernel(const char* name) {
  Kernels& kernels = GetKernels();
  std::lock_guard lock(kernels.mutex);
  return NamedLocked(kernels, name);
}

Kernel* FindKernel(const void* function) {
  Kernels& kernels = GetKernels();
  std::lock_guard lock(kernels.mutex);
  auto found = kernels.by_host.find(function);
  if (found != kernels.by_host.end()) return found->second;
  return kernels.handles.count(function) ? static_cast<Kernel*>(const_cast<void*>(function)) : nullptr;
}

Error LaunchKernel(const char* call, const void* function, Stream& stream) {
  Kernel* kernel = FindKernel(function);
  Trace("%s %.120s stream=%llu", call, kernel ? kernel->name.c_str() : "?", static_cast<unsigned long long>(stream.id));
  return EnqueueWork(stream, "kernel", [] {
    if (int us = GetSettings().kernel_us) usleep(us);
  });
}

}  // namespace nullgpu
