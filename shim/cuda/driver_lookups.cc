// cuGetProcAddress and cuGetProcAddress_v2: the way to every function of the driver but these two (driver.h).
#include <string.h>

#include "shim/cuda/driver.h"

namespace ddbg::shim::cuda {
namespace {

// The stream flag of a look-up chooses between two functions only since this version of CUDA.
constexpr int32_t kFirstPerThread = 7000;
// cuGetProcAddress itself: four arguments, then five.
constexpr int32_t kFirstLookUp = 11030, kFirstLookUpV2 = 12000;

using LookUp = int(const char*, void**, int, uint64_t);
using LookUpV2 = int(const char*, void**, int, uint64_t, int*);

constinit std::atomic<LookUp*> g_bound_look_up{nullptr};
constinit std::atomic<LookUpV2*> g_bound_look_up_v2{nullptr};

struct Row {
  const char* lookup;
  int32_t since, until;
  bool has_variant;
};
enum : bool { kHas_Plain = false, kHas__ptsz = true, kHas__ptds = true };
constexpr Row kRows[] = {
#define DDBG_CU(name, suffix, lookup, since, until, ...) {#lookup, since, until, kHas_##suffix},
#include "proto/calls_cuda_driver.def"
#undef DDBG_CU
};

// `wrapper`, which calls what is bound to it, or `function` as it is: of a second copy of the driver, since who calls
// by a pointer cannot be told from another.
template <class Function>
void* Bind(std::atomic<Function*>& bound, Function* function, void* wrapper) {
  Function* before = nullptr;
  bool is_bound = bound.compare_exchange_strong(before, function, std::memory_order_acq_rel) || before == function;
  return is_bound ? wrapper : reinterpret_cast<void*>(function);
}

int BoundLookUp(const char* name, void** function, int version, uint64_t flags);
int BoundLookUpV2(const char* name, void** function, int version, uint64_t flags, int* status);

void* BindLookUp(void* function, int32_t version) {
  if (version < kFirstLookUp) return function;
  if (version < kFirstLookUpV2)
    return Bind(g_bound_look_up, reinterpret_cast<LookUp*>(function), reinterpret_cast<void*>(BoundLookUp));
  return Bind(g_bound_look_up_v2, reinterpret_cast<LookUpV2*>(function), reinterpret_cast<void*>(BoundLookUpV2));
}

void* BindRow(uint32_t row, void* function, int32_t version, uint64_t flags) {
  bool per_thread = flags & kPerThreadStream && kRows[row].has_variant;
  if (per_thread && version < kFirstPerThread) return function;
  uint32_t index = DriverIndex(static_cast<CudaDriverCall>(row), per_thread);
  return Bind(g_bound[index], function, kBoundWrappers[index]);
}

// What the program gets for `function`, which the real look-up gave it.
void* Answer(const char* name, void* function, int32_t version, uint64_t flags) {
  if (!strcmp(name, "cuGetProcAddress")) return BindLookUp(function, version);
  for (uint32_t row = 0; row < sizeof(kRows) / sizeof(kRows[0]); ++row) {
    bool is_known = version >= kRows[row].since && version <= kRows[row].until;
    if (is_known && !strcmp(kRows[row].lookup, name)) return BindRow(row, function, version, flags);
  }
  return function;
}

// After the real look-up has succeeded. `again` asks it once more, for another version.
template <class Again>
void Replace(const char* name, void** function, int32_t version, uint64_t flags, Again again) {
  if (!name || !function || !*function || IsOwnCode(*function)) return;
  // Of a later version of CUDA than is known here it may have other arguments, unless it is still the same function.
  if (version > kNewest) {
    if (again(kNewest) != *function) return;
    version = kNewest;
  }
  *function = Answer(name, *function, version, flags);
}

int Ask(LookUp* real, const char* name, void** function, int version, uint64_t flags) {
  int result = real(name, function, version, flags);
  if (result != kSuccess || !IsDriverLevelOn()) return result;
  Replace(name, function, version, flags, [&](int32_t known) {
    void* same = nullptr;
    return real(name, &same, known, flags) == kSuccess ? same : nullptr;
  });
  return result;
}

int AskV2(LookUpV2* real, const char* name, void** function, int version, uint64_t flags, int* status) {
  int result = real(name, function, version, flags, status);
  if (result != kSuccess || !IsDriverLevelOn()) return result;
  Replace(name, function, version, flags, [&](int32_t known) {
    void* same = nullptr;
    int ignored;
    return real(name, &same, known, flags, &ignored) == kSuccess ? same : nullptr;
  });
  return result;
}

int BoundLookUp(const char* name, void** function, int version, uint64_t flags) {
  return Ask(g_bound_look_up.load(std::memory_order_acquire), name, function, version, flags);
}

int BoundLookUpV2(const char* name, void** function, int version, uint64_t flags, int* status) {
  return AskV2(g_bound_look_up_v2.load(std::memory_order_acquire), name, function, version, flags, status);
}

template <class Function>
Function* Real(const void* caller, uint32_t index) {
  LibraryCopy* copy = g_driver_copies.Of(caller);
  return copy ? reinterpret_cast<Function*>(g_driver_copies.Function(*copy, index)) : nullptr;
}

}  // namespace
}  // namespace ddbg::shim::cuda

#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]

DDBG_EXPORT int cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  using namespace ddbg::shim::cuda;
  auto* real = Real<LookUp>(__builtin_return_address(0), kLookUp);
  return real ? Ask(real, name, function, version, flags) : kSymbolNotFound;
}

DDBG_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, int* status) {
  using namespace ddbg::shim::cuda;
  auto* real = Real<LookUpV2>(__builtin_return_address(0), kLookUpV2);
  return real ? AskV2(real, name, function, version, flags, status) : kSymbolNotFound;
}
