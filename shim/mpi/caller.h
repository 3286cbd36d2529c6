// Who makes a call of MPI, by the return address: the program, or a library that is called by it.
#pragma once

#include <cstdint>

namespace ddbg::shim::mpi {

enum class Caller : uintptr_t {
  kProgram,
  kLibrary,  // MPI itself, its bindings of other languages, its file system
  kTool,     // another tool of the profiling interface, which the program's calls reach through us
};

// Any thread. Known places are told without the loader.
Caller WhoCalls(const void* return_address) noexcept;

// The libraries are unloaded perhaps.
void ForgetCallers() noexcept;

}  // namespace ddbg::shim::mpi
