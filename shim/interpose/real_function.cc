#include "shim/interpose/real_function.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "shim/interpose/library_copies.h"
#include "shim/interpose/loaded_objects.h"
#include "shim/recorder/say.h"

namespace ddbg::shim {

void* FindRealFunction(const char* name) noexcept {
  int saved_errno = errno;
  void* function = dlsym(RTLD_NEXT, name);
  if (!function || IsOwnCode(function)) function = FindInLoadedObjects(name);
  dlerror();  // a failed look-up of ours must not be what the program reads next
  errno = saved_errno;
  return function;
}

void* RequireRealFunction(const char* name) noexcept {
  void* function = FindRealFunction(name);
  if (function) return function;
  Say("symbol lookup error: undefined symbol: %s (no loaded MPI library has it)", name);
  _exit(127);
}

}  // namespace ddbg::shim
