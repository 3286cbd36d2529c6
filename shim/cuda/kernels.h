// Kernels as ids: one for each name, defined in the trace before its first use. A kernel that was seen before costs one
// look-up of its handle: the host function, cudaKernel_t, CUfunction or CUkernel.
//
// Names come from the runtime (cudaFuncGetName, since 12.3) or the driver (cuFuncGetName, cuKernelGetName), asked after
// the first launch that succeeded, when the kernel is loaded; with an older runtime from what the program's objects
// have registered. A handle that comes back as another kernel's after its module was unloaded keeps the first name.
#pragma once

#include <cstdint>

#include "shim/interpose/library_copies.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::cuda {

bool MakeKernelTables() noexcept;  // empties them if they are there; false: no memory

// 0: not named yet.
uint32_t KernelId(uint64_t handle) noexcept;

// Id of the kernel `handle`, whose name is asked for. 0: nobody can be asked now.
uint32_t NameKernel(ThreadState& t, LibraryCopy* runtime, uint64_t handle) noexcept;
uint32_t NameDriverKernel(ThreadState& t, uint64_t handle) noexcept;

}  // namespace ddbg::shim::cuda
