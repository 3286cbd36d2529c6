#include "shim/interpose/dlsym_hook.h"

#include <dlfcn.h>

#include <atomic>

#include "shim/interpose/deep_binding.h"
#include "shim/interpose/library_copies.h"
#include "shim/interpose/real_function.h"

namespace {

using Dlsym = void*(void*, const char*);

// For a libc in which no dlsym can be found: there is none then, and the program's own use has failed at its start.
void* NoDlsym(void*, const char*) { return nullptr; }

// Never by dlsym itself. The version of glibc 2.34 and later, then the older ones of each architecture.
Dlsym* FindRealDlsym() {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27"})
    if (void* function = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym*>(function);
  return NoDlsym;
}

}  // namespace

extern "C" {

// Read by dlsym_hook.S after the function below.
[[gnu::visibility("hidden")]] constinit std::atomic<Dlsym*> ddbg_real_dlsym{nullptr};

struct DlsymAnswer {
  void* value;
  unsigned long is_answer;  // 0: jump to the real one
};

static bool IsThere(const ddbg::shim::HookedFunction& hooked, const char* name, Dlsym* real) {
  if (!hooked.copies) return ddbg::shim::FindRealFunction(name) != nullptr;
  ddbg::shim::LibraryCopy* copy = hooked.copies->Any();
  return copy && real(copy->handle, name);
}

// Does the wrapper go on to `function` when the program calls it by the pointer?
static bool GoesOnTo(const ddbg::shim::HookedFunction& hooked, const char* name, void* function) {
  return hooked.copies ? hooked.copies->NoteLookUp(function) != nullptr
                       : ddbg::shim::FindRealFunction(name) == function;
}

// What dlsym(handle, name), called from `caller`, gives. Two words in registers.
[[gnu::visibility("hidden")]] DlsymAnswer ddbg_answer_dlsym(void* handle, const char* name, const void* caller) {
  Dlsym* real = ddbg_real_dlsym.load(std::memory_order_relaxed);
  if (!real) [[unlikely]] {
    real = FindRealDlsym();
    ddbg_real_dlsym.store(real, std::memory_order_relaxed);
  }
  if (handle == RTLD_NEXT || !name || ddbg::shim::IsOwnCode(caller)) return {nullptr, 0};
  ddbg::shim::BindDeeplyLoaded();
  ddbg::shim::HookedFunction hooked = ddbg::shim::FindHooked(name);
  if (hooked.answer && handle != RTLD_DEFAULT) return {hooked.answer(real(handle, name)), 1};
  if (!hooked.wrapper) return {nullptr, 0};
  // A failure stays one, and what dlerror says of it.
  void* function = real(handle, name);
  if (!function) return {nullptr, 1};
  // Found by a scope that we are first in. What no library of the program has must not seem to be there.
  if (ddbg::shim::IsOwnCode(function)) return {IsThere(hooked, name, real) ? function : real(RTLD_NEXT, name), 1};
  if (handle == RTLD_DEFAULT) return {function, 1};
  return {GoesOnTo(hooked, name, function) ? hooked.wrapper : function, 1};
}
}
