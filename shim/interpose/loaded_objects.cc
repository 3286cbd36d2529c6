#include "shim/interpose/loaded_objects.h"

#include <dlfcn.h>
#include <link.h>

#include "shim/interpose/library_copies.h"

namespace ddbg::shim {
namespace {

constexpr int kMaxObjects = 1024;

struct Objects {
  const char* path[kMaxObjects];
  int count;
};

bool IsOwn(const dl_phdr_info& info) {
  return info.dlpi_phnum > 0 && IsOwnCode(reinterpret_cast<const void*>(info.dlpi_phdr));
}

// Paths only: dlopen must not be called while the loader walks its list.
int AddObject(dl_phdr_info* info, size_t, void* objects) {
  Objects* list = static_cast<Objects*>(objects);
  if (info->dlpi_name && *info->dlpi_name && !IsOwn(*info) && list->count < kMaxObjects)
    list->path[list->count++] = info->dlpi_name;
  return 0;
}

}  // namespace

void* FindInLoadedObjects(const char* name) noexcept {
  Objects objects;
  objects.count = 0;
  dl_iterate_phdr(AddObject, &objects);
  for (int i = 0; i < objects.count; ++i) {
    void* handle = dlopen(objects.path[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    void* function = dlsym(handle, name);
    dlclose(handle);
    if (function && !IsOwnCode(function)) return function;
  }
  return nullptr;
}

}  // namespace ddbg::shim
