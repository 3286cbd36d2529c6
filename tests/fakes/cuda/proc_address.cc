// cuGetProcAddress: which function a base name means to a program written for a version of CUDA.
//
// The name has no suffix: the version says whose ABI is meant (the newest that is not newer than it), and the flags say
// whether the default stream is the legacy one or the thread's own.
#include <string.h>

#include "tests/fakes/core/settings.h"
#include "tests/fakes/cuda/abi.h"
#include "tests/fakes/cuda/proc_table.h"

namespace nullgpu {
namespace {

enum Status : int { kFound = 0, kNoSymbol = 1, kVersionTooOld = 2 };
constexpr uint64_t kPerThreadStream = 2;

int Find(const char* name, void** function, int version, uint64_t flags, int* status) {
  const ProcEntry* best = nullptr;
  bool known = false;
  for (const ProcEntry& entry : ProcTable()) {
    if (strcmp(entry.base, name)) continue;
    known = true;
    if (entry.since <= version && (!best || entry.since > best->since)) best = &entry;
  }
  *function = nullptr;
  if (best) *function = reinterpret_cast<void*>(flags & kPerThreadStream ? best->per_thread : best->legacy);
  *status = best ? kFound : known ? kVersionTooOld : kNoSymbol;
  Trace("cuGetProcAddress %s version=%d flags=%llu -> %s", name, version, static_cast<unsigned long long>(flags),
        best ? "found" : "not found");
  return best ? kSuccess : kNotFound;
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

API int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, int* status) {
  if (!name || !function || flags > kPerThreadStream) return kInvalidValue;
  int found;
  int result = Find(name, function, version, flags, &found);
  if (status) *status = found;
  return result;
}

API int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
