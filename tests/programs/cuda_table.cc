// Calls every function of calls_cuda.def, or with -DDRIVER of calls_cuda_driver.def, and says how often each was called
// and came to the library: "name called reached". With -DDRIVER: cuda_table linked|looked-up.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "proto/call.h"
#include "shim/interpose/arities.h"
#include "shim/interpose/word.h"

using ddbg::Role;
using ddbg::shim::Word;

namespace {

Word g_places[64];  // for whatever an address is wanted

Word ArgumentFor(Role role) {
  switch (role) {
    case Role::NewPointer:
    case Role::NewStream:
    case Role::NewEvent:
    case Role::NewGraph:
    case Role::Copy3D:
    case Role::PeerCopy3D:
    case Role::DriverCopy2D:
    case Role::DriverCopy3D:
    case Role::LaunchConfig: return reinterpret_cast<Word>(g_places);
    case Role::Stream: return 0x5000;
    case Role::Bytes: return 64;
    default: return 3;
  }
}

long g_round = 0;

template <class... W, size_t... I>
void CallWith(Word (*function)(W...), const Word* words, std::index_sequence<I...>) {
  function(words[I]...);
}

template <class... W>
void Call(Word (*function)(W...), std::initializer_list<Role> roles) {
  Word words[sizeof...(W) + 1];
  Word* next = words;
  for (Role role : roles) *next++ = ArgumentFor(role);
  CallWith(function, words, std::index_sequence_for<W...>{});
}

}  // namespace

#ifndef DRIVER

struct Extent {
  size_t width, height, depth;
};
struct PitchedPointer {
  void* address;
  size_t pitch, width, height;
};
extern "C" {
long cuda_table_calls(const char* name);
Word cudaMemset3D(PitchedPointer, Word, Extent);
Word cudaMemset3D_ptds(PitchedPointer, Word, Extent);
Word cudaMemset3DAsync(PitchedPointer, Word, Extent, Word);
Word cudaMemset3DAsync_ptsz(PitchedPointer, Word, Extent, Word);
Word cudaMalloc3D(Word, Extent);

#define DDBG_CUDA_OWN(...)
#define DDBG_BODY(name, parameters, ...) Word name parameters;
#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_DEFINE(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
#undef DDBG_BODY
#define DDBG_CUDA_OWN(...)
#define DDBG_BODY(name, parameters, ...) \
  Word name##_ptsz parameters;           \
  Word name##_ptds parameters;
#define DDBG_CUDA(name, suffix, kind, shape, ...) DDBG_DEFINE(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
#undef DDBG_BODY
}

namespace {

void Say(const char* name) { printf("%s %ld %ld\n", name, g_round, cuda_table_calls(name)); }

#define CALL_Plain(name, ...)
#define CALL__ptsz(name, ...) Call(name##_ptsz, {__VA_ARGS__});
#define CALL__ptds(name, ...) Call(name##_ptds, {__VA_ARGS__});

void CallAll() {
  using enum Role;
  Extent extent = {4, 3, 2};
  cudaMemset3D({}, 0, extent);
  cudaMemset3D_ptds({}, 0, extent);
  cudaMemset3DAsync({}, 0, extent, 0x5000);
  cudaMemset3DAsync_ptsz({}, 0, extent, 0x5000);
  cudaMalloc3D(reinterpret_cast<Word>(g_places), extent);
#define DDBG_CUDA_OWN(...)
#define DDBG_CUDA(name, suffix, kind, shape, ...) \
  Call(name, {__VA_ARGS__});                      \
  CALL_##suffix(name, __VA_ARGS__)
#include "proto/calls_cuda.def"
#undef DDBG_CUDA
}

}  // namespace

int main() {
  for (int i = 0; i < 5; ++i) {
    ++g_round;
    CallAll();
  }
#define SAY_Plain(name)
#define SAY__ptsz(name) Say(#name "_ptsz");
#define SAY__ptds(name) Say(#name "_ptds");
#define DDBG_CUDA(name, suffix, ...) \
  Say(#name);                        \
  SAY_##suffix(name)
#include "proto/calls_cuda.def"
}

#else

extern "C" {
long cuda_driver_table_calls(const char* name);
#define DDBG_BODY(name, parameters, ...) \
  Word name parameters;                  \
  Word name##_ptsz parameters;           \
  Word name##_ptds parameters;
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) DDBG_DEFINE(name __VA_OPT__(, ) __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
}

namespace {

using LookUp = int(const char*, void**, int, unsigned long);
using LookUpV2 = int(const char*, void**, int, unsigned long, int*);

// As a runtime does: one dlsym, then everything through what that gave, itself included.
LookUpV2* FirstLookUp() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto* first = reinterpret_cast<LookUpV2*>(dlsym(driver, "cuGetProcAddress_v2"));
  void *four = nullptr, *five = nullptr;
  int status;
  if (first("cuGetProcAddress", &four, 11030, 0, &status) || first("cuGetProcAddress", &five, 12000, 0, &status))
    return nullptr;
  void* again = nullptr;
  if (reinterpret_cast<LookUp*>(four)("cuGetProcAddress", &again, 12000, 0) || again != five) return nullptr;
  return reinterpret_cast<LookUpV2*>(five);
}

template <class Function>
Function* Find(LookUpV2* look_up, const char* name, int version, unsigned long flags, Function*) {
  void* function = nullptr;
  int status = 0;
  if (look_up(name, &function, version, flags, &status)) printf("no %s\n", name);
  return reinterpret_cast<Function*>(function);
}

void SayWhere(const char* what, void* function) {
  Dl_info info = {};
  dladdr(function, &info);
  const char* file = info.dli_fname ? strrchr(info.dli_fname, '/') : nullptr;
  printf("%s in %s\n", what, file ? file + 1 : "?");
}

void SayOdd(LookUpV2* look_up) {
  void* function = nullptr;
  int status = 0;
  auto find = [&](const char* what, const char* name, int version, unsigned long flags) {
    function = nullptr;
    look_up(name, &function, version, flags, &status);
    SayWhere(what, function);
  };
  find("later-and-other", "cuGraphLaunch", 13010, 0);
  find("later-and-same", "cuLaunchKernel", 14000, 0);
  find("earlier", "cuMemAlloc", 3000, 0);
  find("unknown", "cuGetExportTable", 13000, 0);
  find("per-thread-too-early", "cuLaunchKernel", 4000, 2);
  find("per-thread", "cuLaunchKernel", 7000, 2);
}

#define SECOND_Plain(name) name
#define SECOND__ptsz(name) name##_ptsz
#define SECOND__ptds(name) name##_ptds
#define CALL_Plain(name, ...)
#define CALL__ptsz(name, ...) Call(name##_ptsz, {__VA_ARGS__});
#define CALL__ptds(name, ...) Call(name##_ptds, {__VA_ARGS__});
#define FIND_Plain(name, ...)
#define FIND__ptsz(name, lookup, ...) Call(Find(look_up, #lookup, 13000, 2, name), {__VA_ARGS__});
#define FIND__ptds FIND__ptsz
enum { kNewest = 13000 };

void CallLinked() {
  using enum Role;
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) \
  Call(name, {__VA_ARGS__});                                          \
  CALL_##suffix(name, __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
}

void CallLookedUp(LookUpV2* look_up) {
  using enum Role;
#define DDBG_CU(name, suffix, lookup, since, until, kind, shape, ...) \
  Call(Find(look_up, #lookup, until, 0, name), {__VA_ARGS__});        \
  FIND_##suffix(name, lookup, __VA_ARGS__)
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
}

void Say(const char* name) { printf("%s %ld %ld\n", name, g_round, cuda_driver_table_calls(name)); }

}  // namespace

int main(int, char** arguments) {
  bool looked_up = arguments[1] && !strcmp(arguments[1], "looked-up");
  LookUpV2* look_up = looked_up ? FirstLookUp() : nullptr;
  if (looked_up && !look_up) return 2;
  for (int i = 0; i < 5; ++i) {
    ++g_round;
    if (looked_up)
      CallLookedUp(look_up);
    else
      CallLinked();
  }
  if (looked_up) SayOdd(look_up);
#define SAY_Plain(name)
#define SAY__ptsz(name) Say(#name "_ptsz");
#define SAY__ptds(name) Say(#name "_ptds");
#define DDBG_CU(name, suffix, ...) \
  Say(#name);                      \
  SAY_##suffix(name)
#include "proto/calls_cuda_driver.def"
}
#endif
