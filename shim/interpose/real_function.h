// The function the program would have called without us.
#pragma once

namespace ddbg::shim {

// RTLD_NEXT first; else a walk over the loaded objects, since a library that was loaded RTLD_LOCAL (mpi4py, plug-ins)
// is invisible to RTLD_NEXT (mpi.md 1.3). nullptr if no loaded object but ours defines it. Takes the loader's lock:
// first call of each function only.
void* FindRealFunction(const char* name) noexcept;

// Same, and ends the process as the loader would if there is none: the program called what does not exist.
void* RequireRealFunction(const char* name) noexcept;

}  // namespace ddbg::shim
