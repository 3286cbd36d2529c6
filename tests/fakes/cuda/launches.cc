// Modules, kernels and graphs. A module is its image's address; its functions are found by name, whatever the name.
#include "tests/fakes/core/capture.h"
#include "tests/fakes/core/graph.h"
#include "tests/fakes/core/kernels.h"
#include "tests/fakes/core/settings.h"
#include "tests/fakes/cuda/abi.h"

namespace nullgpu {
namespace {

// CUlaunchConfig
struct LaunchConfiguration {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfiguration) == 56);

int Launch(const char* call, const void* function, Handle stream, bool per_thread) {
  if (!FindKernel(function)) return kInvalidHandle;
  return WithStream(stream, per_thread, [&](Stream& found) { return LaunchKernel(call, function, found); });
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

API int cuModuleLoadData(Handle* module, const void* image) {
  if (Error error = CheckUnsafeCall()) return error;
  *module = const_cast<void*>(image);
  return kSuccess;
}

API int cuModuleLoadDataEx(Handle* module, const void* image, unsigned, void*, void*) {
  return cuModuleLoadData(module, image);
}

API int cuModuleLoadFatBinary(Handle* module, const void* image) { return cuModuleLoadData(module, image); }

API int cuModuleUnload(Handle) { return kSuccess; }

API int cuModuleGetFunction(Handle* function, Handle, const char* name) {
  *function = NamedKernel(name);
  return kSuccess;
}

API int cuLibraryLoadData(Handle* library, const void* image, void*, void*, unsigned, void*, void*, unsigned) {
  return cuModuleLoadData(library, image);
}

API int cuLibraryUnload(Handle) { return kSuccess; }

API int cuLibraryGetKernel(Handle* kernel, Handle, const char* name) {
  *kernel = NamedKernel(name);
  return kSuccess;
}

API int cuKernelGetFunction(Handle* function, Handle kernel) {
  *function = kernel;
  return FindKernel(kernel) ? kSuccess : kInvalidHandle;
}

API int cuFuncGetName(const char** name, Handle function) {
  Kernel* kernel = FindKernel(function);
  if (!kernel) return kInvalidHandle;
  *name = kernel->name.c_str();
  return kSuccess;
}

API int cuKernelGetName(const char** name, Handle kernel) { return cuFuncGetName(name, kernel); }

API int cuFuncGetAttribute(int* value, int, Handle) {
  *value = 0;
  return kSuccess;
}

API int cuFuncSetAttribute(Handle, int, int) { return kSuccess; }

API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Handle, int, size_t) {
  *blocks = 2;
  return kSuccess;
}

BOTH(cuLaunchKernel, _ptsz,
     (Handle function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle stream, void**,
      void**),
     return Launch(__func__, function, stream, per_thread);)

BOTH(cuLaunchKernelEx, _ptsz, (const LaunchConfiguration* configuration, Handle function, void**, void**),
     return Launch(__func__, function, configuration->stream, per_thread);)

BOTH(cuLaunchCooperativeKernel, _ptsz,
     (Handle function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle stream, void**),
     return Launch(__func__, function, stream, per_thread);)

BOTH(cuLaunchHostFunc, _ptsz, (Handle stream, void (*function)(void*), void* argument),
     return WithStream(stream, per_thread,
                       [&](Stream& found) { return EnqueueWork(found, "host", [=] { function(argument); }); });)

BOTH(cuGraphLaunch, _ptsz, (GraphExec * exec, Handle stream), if (!exec) return kInvalidValue;
     Trace("%s %p", __func__, static_cast<void*>(exec));
     return WithStream(stream, per_thread, [exec](Stream& found) { return LaunchGraph(*exec, found); });)

BOTH(cuStreamBeginCapture_v2, _ptsz, (Handle stream, int mode), if (mode < 0 || mode > 2) return kInvalidValue;
     return WithStream(stream, per_thread,
                       [=](Stream& found) { return BeginCapture(found, static_cast<CaptureMode>(mode)); });)

BOTH(cuStreamEndCapture, _ptsz, (Handle stream, Graph** graph),
     return WithStream(stream, per_thread, [=](Stream& found) { return EndCapture(found, graph); });)

BOTH(cuStreamIsCapturing, _ptsz, (Handle stream, int* status),
     return WithStream(stream, per_thread, [=](Stream& found) {
       *status = static_cast<int>(StatusOfCapture(found, nullptr, nullptr));
       return kSuccess;
     });)

API int cuThreadExchangeStreamCaptureMode(int* mode) {
  if (*mode < 0 || *mode > 2) return kInvalidValue;
  *mode = static_cast<int>(ExchangeCaptureMode(static_cast<CaptureMode>(*mode)));
  return kSuccess;
}

API int cuGraphInstantiateWithFlags(GraphExec** exec, Graph* graph, unsigned long long) {
  if (!graph) return kInvalidValue;
  *exec = new GraphExec{std::make_shared<const Graph>(*graph)};
  return kSuccess;
}

API int cuGraphExecDestroy(GraphExec* exec) {
  delete exec;
  return kSuccess;
}

API int cuGraphDestroy(Graph* graph) {
  delete graph;
  return kSuccess;
}
