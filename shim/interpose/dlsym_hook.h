// dlsym, so that who calls MPI, NCCL or CUDA by a pointer (ctypes, Julia, a statically linked runtime) is seen as well.
//
// The exported dlsym is a jump (dlsym_hook.S): for every name that is not ours the real one runs as if called by the
// program, with the return address untouched, since RTLD_NEXT and RTLD_DEFAULT depend on it. A wrapper in C would make
// RTLD_NEXT mean "next after libddbg" and deadlock the import of torch (nccl-cuda.md B4).
//
// dlvsym is left alone: nobody asks for NCCL's or CUDA's functions by a version. Names are compared whole, never by a
// prefix.
#pragma once

namespace ddbg::shim {

class LibraryCopies;

struct HookedFunction {
  void* wrapper = nullptr;  // nullptr: not a function of ours
  LibraryCopies* copies = nullptr;  // nullptr: of MPI, whose real functions are found by FindRealFunction
  void* (*answer)(void* found) = nullptr;  // of a name that is looked up in a handle: what to give, by what was found
};

// By name, from all families' tables (shim/hooked_names.cc). Any thread, also before constructors.
HookedFunction FindHooked(const char* name) noexcept;

}  // namespace ddbg::shim
