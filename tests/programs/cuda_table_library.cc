// libcudart.so.13 and libcuda.so.1 in which every function of the call tables does nothing but count. With -DDRIVER the
// latter.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shim/interpose/arities.h"
#include "shim/interpose/word.h"

using ddbg::shim::Word;

namespace {

struct Entry {
  const char* name;
  long calls;
};
Entry g_entries[512];

void Count(const char* name) {
  Entry* entry = g_entries;
  while (entry->name && strcmp(entry->name, name)) ++entry;
  entry->name = name;
  ++entry->calls;
}

// What a function returns: FAIL_<name> in the environment, 0 otherwise.
Word ResultOf(const char* name) {
  char variable[128];
  snprintf(variable, sizeof(variable), "FAIL_%s", name);
  const char* value = getenv(variable);
  return value ? atoi(value) : 0;
}

}  // namespace

#define API extern "C" __attribute__((visibility("default")))
#define DDBG_NONE(...)
#define PLAIN(name, parameters) \
  API Word name parameters {    \
    Count(#name);               \
    return ResultOf(#name);     \
  }

#ifndef DRIVER

struct Extent {
  size_t width, height, depth;
};
struct PitchedPointer {
  void* address;
  size_t pitch, width, height;
};
#define OWN(name, parameters) PLAIN(name, parameters)
OWN(cudaMemset3D, (PitchedPointer, Word, Extent))
OWN(cudaMemset3D_ptds, (PitchedPointer, Word, Extent))
OWN(cudaMemset3DAsync, (PitchedPointer, Word, Extent, Word))
OWN(cudaMemset3DAsync_ptsz, (PitchedPointer, Word, Extent, Word))
OWN(cudaMalloc3D, (Word, Extent))
API int cudaRuntimeGetVersion(int* version) { return *version = 13000, 0; }

API long cuda_table_calls(const char* name) {
  for (const Entry& entry : g_entries)
    if (entry.name && !strcmp(entry.name, name)) return entry.calls;
  return 0;
}

#define DDBG_CUDA_OWN(...)
#define DDBG_BODY(name, parameters, ...) PLAIN(name, parameters)
#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_DEFINE(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
#undef DDBG_BODY

#define DDBG_CUDA_OWN(...)
#define DDBG_BODY(name, parameters, ...) PLAIN(name##_ptsz, parameters)
#define DDBG_PTSZ_Plain DDBG_NONE
#define DDBG_PTSZ__ptds DDBG_NONE
#define DDBG_PTSZ__ptsz DDBG_DEFINE
#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_PTSZ_##suffix(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
#undef DDBG_BODY

#define DDBG_CUDA_OWN(...)
#define DDBG_BODY(name, parameters, ...) PLAIN(name##_ptds, parameters)
#define DDBG_PTDS_Plain DDBG_NONE
#define DDBG_PTDS__ptds DDBG_DEFINE
#define DDBG_PTDS__ptsz DDBG_NONE
#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_PTDS_##suffix(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"

#else

API long cuda_driver_table_calls(const char* name) {
  for (const Entry& entry : g_entries)
    if (entry.name && !strcmp(entry.name, name)) return entry.calls;
  return 0;
}
API int cuDriverGetVersion(int* version) { return *version = 13000, 0; }

#define DDBG_BODY(name, parameters, ...) PLAIN(name, parameters)
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) DDBG_DEFINE(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
#undef DDBG_BODY

#define DDBG_BODY(name, parameters, ...) PLAIN(name##_ptsz, parameters)
#define DDBG_PTSZ_Plain DDBG_NONE
#define DDBG_PTSZ__ptds DDBG_NONE
#define DDBG_PTSZ__ptsz DDBG_DEFINE
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) \
  DDBG_PTSZ_##suffix(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
#undef DDBG_BODY

#define DDBG_BODY(name, parameters, ...) PLAIN(name##_ptds, parameters)
#define DDBG_PTDS_Plain DDBG_NONE
#define DDBG_PTDS__ptds DDBG_DEFINE
#define DDBG_PTDS__ptsz DDBG_NONE
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) \
  DDBG_PTDS_##suffix(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU

// What cuGetProcAddress gives: the newest function of a name that is not newer than the version asked for.
struct Row {
  const char* lookup;
  int since;
  void* function[2];
};
#define SECOND_Plain(name) name
#define SECOND__ptsz(name) name##_ptsz
#define SECOND__ptds(name) name##_ptds
const Row kRows[] = {
#define DDBG_CU(name, suffix, lookup, since, ...) \
  {#lookup, since, {reinterpret_cast<void*>(name), reinterpret_cast<void*>(SECOND_##suffix(name))}},
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
};

// A function of a later version of CUDA, with other arguments.
API Word cuGraphLaunch_v3() {
  Count("cuGraphLaunch_v3");
  return 0;
}

extern "C" int cuGetProcAddress(const char* name, void** function, int version, unsigned long flags);

API int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long flags, int* status) {
  Count("cuGetProcAddress");
  *function = nullptr;
  int best = 0;
  for (const Row& row : kRows) {
    if (strcmp(row.lookup, name) || row.since > version || row.since < best) continue;
    best = row.since;
    *function = row.function[flags == 2];
  }
  if (!strcmp(name, "cuGetProcAddress"))
    *function =
        version < 12000 ? reinterpret_cast<void*>(cuGetProcAddress) : reinterpret_cast<void*>(cuGetProcAddress_v2);
  if (!strcmp(name, "cuGraphLaunch") && version >= 13010) *function = reinterpret_cast<void*>(cuGraphLaunch_v3);
  if (status) *status = *function ? 0 : 1;
  return *function ? 0 : 500;
}

API int cuGetProcAddress(const char* name, void** function, int version, unsigned long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
#endif
