#include "shim/interpose/real_function.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/recorder/say.h"

namespace ddbg::shim {
namespace {

constexpr int kMaxObjects = 1024;

struct Objects {
  const char* path[kMaxObjects];
  int count;
};

// Paths only: dlopen must not be called while the loader walks its list.
int AddObject(dl_phdr_info* info, size_t, void* objects) {
  Objects* list = static_cast<Objects*>(objects);
  if (info->dlpi_name && *info->dlpi_name && list->count < kMaxObjects) list->path[list->count++] = info->dlpi_name;
  return 0;
}

const char* OwnPath() {
  Dl_info own;
  return dladdr(reinterpret_cast<void*>(&FindRealFunction), &own) ? own.dli_fname : "";
}

bool IsOurs(void* function) {
  Dl_info info;
  return !function || (dladdr(function, &info) && info.dli_fname && !strcmp(info.dli_fname, OwnPath()));
}

void* FindInLoadedObjects(const char* name) {
  Objects objects = {};
  dl_iterate_phdr(AddObject, &objects);
  for (int i = 0; i < objects.count; ++i) {
    if (!strcmp(objects.path[i], OwnPath())) continue;
    void* handle = dlopen(objects.path[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    void* function = dlsym(handle, name);
    dlclose(handle);
    if (!IsOurs(function)) return function;
  }
  return nullptr;
}

}  // namespace

void* FindRealFunction(const char* name) noexcept {
  int saved_errno = errno;
  void* function = dlsym(RTLD_NEXT, name);
  if (IsOurs(function)) function = FindInLoadedObjects(name);
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
