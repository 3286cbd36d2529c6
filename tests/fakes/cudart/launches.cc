// Registration of kernels by nvcc's host code, and every way to launch one.
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/core/device.h"
#include "tests/fakes/core/graph.h"
#include "tests/fakes/core/kernels.h"
#include "tests/fakes/core/memory.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/cudart/abi.h"

namespace nullgpu {
namespace {

struct CallConfiguration {
  Dim3 grid, block;
  size_t shared_bytes;
  Handle stream;
};

// What <<<…>>> pushes before it calls the host stub, which pops it.
thread_local CallConfiguration configurations[8];
thread_local int configuration_count = 0;

// cudaLaunchConfig_t
struct LaunchConfiguration {
  Dim3 grid, block;
  size_t shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfiguration) == 56);

int Launch(const char* call, const void* function, Handle stream, bool per_thread) {
  return WithStream(stream, per_thread, [&](Stream& found) { return LaunchKernel(call, function, found); });
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

API void** __cudaRegisterFatBinary(void* binary) {
  void** handle = static_cast<void**>(calloc(2, sizeof(void*)));
  handle[0] = binary;
  return handle;
}

API void __cudaRegisterFatBinaryEnd(void**) {}

API void __cudaUnregisterFatBinary(void** handle) { free(handle); }

API void __cudaRegisterFunction(void**, const char* host_function, char*, const char* name, int, void*, void*, void*,
                                void*, int*) {
  RegisterKernel(host_function, name);
}

API void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

API void __cudaRegisterManagedVar(void**, void** variable, char*, const char*, int, size_t bytes, int, int) {
  *variable = Allocate(CurrentDevice(), bytes, MemoryKind::kManaged);
}

API char __cudaInitModule(void**) { return 1; }

API unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared_bytes, Handle stream) {
  if (configuration_count == 8) return 1;
  configurations[configuration_count++] = {grid, block, shared_bytes, stream};
  return 0;
}

API int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared_bytes, Handle* stream) {
  if (!configuration_count) return Return(kInvalidValue);
  const CallConfiguration& top = configurations[--configuration_count];
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *stream = top.stream;
  return kSuccess;
}

BOTH(cudaLaunchKernel, _ptsz, (const void* function, Dim3, Dim3, void**, size_t, Handle stream),
     return Launch(__func__, function, stream, per_thread);)

BOTH(cudaLaunchCooperativeKernel, _ptsz, (const void* function, Dim3, Dim3, void**, size_t, Handle stream),
     return Launch(__func__, function, stream, per_thread);)

BOTH(cudaLaunchKernelExC, _ptsz, (const LaunchConfiguration* configuration, const void* function, void**),
     return Launch(__func__, function, configuration->stream, per_thread);)

// What nvcc's host stubs call since CUDA 13.0. The handle is no host address: a name is found by cudaFuncGetName only.
BOTH(__cudaLaunchKernel, _ptsz, (const void* kernel, Dim3, Dim3, void**, size_t, Handle stream),
     return Launch(__func__, kernel, stream, per_thread);)

API int __cudaGetKernel(Handle* kernel, const void* host_function) {
  *kernel = FindKernel(host_function);
  return Return(*kernel ? kSuccess : kInvalidHandle);
}

API int cudaGetKernel(Handle* kernel, const void* host_function) { return __cudaGetKernel(kernel, host_function); }

API int cudaFuncGetName(const char** name, const void* function) {
  Kernel* kernel = FindKernel(function);
  if (!kernel) return Return(kInvalidHandle);
  *name = kernel->name.c_str();
  return kSuccess;
}

BOTH(cudaGraphLaunch, _ptsz, (GraphExec * exec, Handle stream), if (!exec) return Return(kInvalidValue);
     Trace("%s %p", __func__, static_cast<void*>(exec));
     return WithStream(stream, per_thread, [exec](Stream& found) { return LaunchGraph(*exec, found); });)

BOTH(cudaLaunchHostFunc, _ptsz, (Handle stream, void (*function)(void*), void* argument),
     return WithStream(stream, per_thread,
                       [&](Stream& found) { return EnqueueWork(found, "host", [=] { function(argument); }); });)

API int cudaFuncGetAttributes(void* attributes, const void*) {
  memset(attributes, 0, 140);
  const int values[] = {1024, 32, 90, 90};  // threads of a block, registers, PTX and binary version
  memcpy(static_cast<char*>(attributes) + 24, values, sizeof(values));
  return kSuccess;
}

API int cudaFuncSetAttribute(const void*, int, int) { return kSuccess; }

API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int block_size, size_t,
                                                               unsigned) {
  int fit = block_size > 0 ? 2048 / block_size : 1;
  *blocks = fit < 1 ? 1 : fit > 32 ? 32 : fit;
  return kSuccess;
}

API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size, size_t bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, bytes, 0);
}
