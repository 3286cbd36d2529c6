// The kernels that the program's objects register with the runtime when they are loaded, for runtimes that cannot be
// asked for a kernel's name (before 12.3).
//
// An object registers from its constructors, all kernels that it has: 100,000 in PyTorch's. So nothing of ours is
// started there and nothing is written; with a runtime that can be asked nothing is kept either.
#pragma once

#include <cstdint>

namespace ddbg::shim::cuda {

// nullptr: not registered. The name is the registering object's own text.
const char* RegisteredName(uint64_t host_function) noexcept;

}  // namespace ddbg::shim::cuda
