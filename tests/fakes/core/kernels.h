// Kernels: a name and a handle. They compute nothing; they only keep a stream busy for NULLGPU_KERNEL_US. Thread-safe.
#pragma once

#include <string>

#include "tests/fakes/core/stream.h"

namespace nullgpu {

// cudaKernel_t, CUfunction and CUkernel are the address of one of these; they live for ever.
struct Kernel {
  std::string name;
};

// The kernel behind a host function (as nvcc's registration code names it). The first registration holds.
Kernel* RegisterKernel(const void* host_function, const char* name);
// A kernel by its name alone, as a module's functions are found.
Kernel* NamedKernel(const char* name);
// By a host function or by a kernel's handle; null if it is neither.
Kernel* FindKernel(const void* function);

// Enqueues it. `call` is what the client called, for the trace.
Error LaunchKernel(const char* call, const void* function, Stream& stream);

}  // namespace nullgpu
