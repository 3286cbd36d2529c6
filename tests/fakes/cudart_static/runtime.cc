// A runtime to link statically, as nvcc does by default: its functions are not seen by a preload, and all it does goes
// through the driver (driver.h). Only what a small client needs; streams, events and graphs are made by the driver
// directly.
#include <map>
#include <mutex>
#include <string>

#include "tests/fakes/cudart_static/driver.h"

// Hidden, so that a client does not export them.
#define API extern "C" __attribute__((visibility("hidden")))

namespace nullgpu::static_runtime {
namespace {

constexpr int kNoDriver = 35;  // cudaErrorInsufficientDriver
constexpr int kInvalidFunction = 98;

struct Dim3 {
  unsigned x, y, z;
};

struct RuntimeConfiguration {  // cudaLaunchConfig_t
  Dim3 grid, block;
  size_t shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};

struct Functions {
  std::mutex mutex;
  std::map<const void*, std::string> names;
  std::map<const void*, Handle> kernels;
  Handle library = nullptr;
};

Functions& GetFunctions() {
  static auto* functions = new Functions;
  return *functions;
}

// The kernel behind a host function, loaded when it is first launched, as under lazy loading.
Handle KernelOf(const Driver& driver, const void* host_function) {
  Functions& functions = GetFunctions();
  std::lock_guard lock(functions.mutex);
  auto name = functions.names.find(host_function);
  if (name == functions.names.end()) return nullptr;
  Handle& kernel = functions.kernels[host_function];
  static const char image[] = "image";
  if (!functions.library) driver.load_library(&functions.library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (!kernel) driver.get_kernel(&kernel, functions.library, name->second.c_str());
  return kernel;
}

int Launch(bool per_thread, const void* host_function, Dim3 grid, Dim3 block, size_t shared_bytes, Handle stream,
           void** arguments) {
  const Driver* driver = GetDriver();
  if (!driver) return kNoDriver;
  Handle kernel = KernelOf(*driver, host_function);
  if (!kernel) return kInvalidFunction;
  const StreamCalls& calls = per_thread ? driver->per_thread : driver->legacy;
  return calls.launch(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(shared_bytes),
                      stream, arguments, nullptr);
}

}  // namespace
}  // namespace nullgpu::static_runtime

using namespace nullgpu::static_runtime;

API void __cudaRegisterFunction(void**, const char* host_function, char*, const char* name, int, void*, void*, void*,
                                void*, int*) {
  Functions& functions = GetFunctions();
  std::lock_guard lock(functions.mutex);
  functions.names.emplace(host_function, name);
}

API int cudaGetDeviceCount(int* count) {
  *count = 0;
  const Driver* driver = GetDriver();
  return driver ? driver->device_count(count) : kNoDriver;
}

API int cudaSetDevice(int device) {
  const Driver* driver = GetDriver();
  Handle context;
  if (!driver) return kNoDriver;
  int error = driver->retain_context(&context, device);
  return error ? error : driver->set_context(context);
}

API int cudaMalloc(void** pointer, size_t bytes) {
  const Driver* driver = GetDriver();
  return driver ? driver->allocate(pointer, bytes) : kNoDriver;
}

API int cudaFree(void* pointer) {
  const Driver* driver = GetDriver();
  return driver ? driver->free(pointer) : kNoDriver;
}

API int cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  const Driver* driver = GetDriver();
  return driver ? driver->legacy.copy(to, from, bytes) : kNoDriver;
}

API int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, Handle stream) {
  const Driver* driver = GetDriver();
  return driver ? driver->legacy.copy_async(to, from, bytes, stream) : kNoDriver;
}

API int cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared_bytes,
                         Handle stream) {
  return Launch(false, function, grid, block, shared_bytes, stream, arguments);
}

API int cudaLaunchKernel_ptsz(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared_bytes,
                              Handle stream) {
  return Launch(true, function, grid, block, shared_bytes, stream, arguments);
}

API int cudaLaunchKernelExC(const RuntimeConfiguration* configuration, const void* function, void** arguments) {
  const Driver* driver = GetDriver();
  if (!driver) return kNoDriver;
  Handle kernel = KernelOf(*driver, function);
  if (!kernel) return kInvalidFunction;
  const Dim3 &grid = configuration->grid, &block = configuration->block;
  LaunchConfiguration own = {
      {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<unsigned>(configuration->shared_bytes),
      configuration->stream,    configuration->attributes,   configuration->attribute_count};
  return driver->legacy.launch_ex(&own, kernel, arguments, nullptr);
}

API int cudaLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared_bytes,
                                    Handle stream) {
  const Driver* driver = GetDriver();
  if (!driver) return kNoDriver;
  Handle kernel = KernelOf(*driver, function);
  if (!kernel) return kInvalidFunction;
  return driver->legacy.launch_cooperative(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                           static_cast<unsigned>(shared_bytes), stream, arguments);
}

API int cudaGraphLaunch(Handle exec, Handle stream) {
  const Driver* driver = GetDriver();
  return driver ? driver->legacy.graph_launch(exec, stream) : kNoDriver;
}

API int cudaStreamSynchronize(Handle stream) {
  const Driver* driver = GetDriver();
  return driver ? driver->legacy.synchronize(stream) : kNoDriver;
}

API int cudaEventSynchronize(Handle event) {
  const Driver* driver = GetDriver();
  return driver ? driver->event_synchronize(event) : kNoDriver;
}

API int cudaDeviceSynchronize() {
  const Driver* driver = GetDriver();
  return driver ? driver->synchronize() : kNoDriver;
}
