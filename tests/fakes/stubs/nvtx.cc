// libnvToolsExt (NVTX 2): hands what PyTorch calls to the tool that NVTX_INJECTION64_PATH names, by the protocol that
// NVTX 3 has published (github.com/NVIDIA/NVTX, c/include/nvtx3/nvtxDetail). Without a tool nothing happens.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define API extern "C" __attribute__((visibility("default")))

namespace {

using Function = void (*)();
enum Callback { kMarkA = 2, kRangeStartA = 5, kRangeEnd = 7, kRangePushA = 9, kRangePop = 11, kCallbacks = 16 };

struct ExportTable {
  size_t struct_size;
  int (*get_module)(int module, Function*** table, unsigned* size);
};

Function g_functions[kCallbacks];
Function* g_places[kCallbacks + 1];

int GetModule(int module, Function*** table, unsigned* size) {
  if (module != 1) return 0;
  *table = g_places;
  *size = kCallbacks;
  return 1;
}

const ExportTable g_table = {sizeof(ExportTable), GetModule};

const void* GetExportTable(uint32_t id) { return id == 1 ? &g_table : nullptr; }

bool Load() {
  for (int i = 1; i < kCallbacks; ++i) g_places[i] = &g_functions[i];
  const char* path = getenv("NVTX_INJECTION64_PATH");
  void* tool = path ? dlopen(path, RTLD_LAZY) : nullptr;
  void* init = tool ? dlsym(tool, "InitializeInjectionNvtx2") : nullptr;
  using Init = int(const void* (*)(uint32_t));
  return init && reinterpret_cast<Init*>(init)(GetExportTable);
}

// Looked for once, at the first call of any function.
bool IsLoaded() {
  static const bool loaded = Load();
  return loaded;
}

template <class F>
F* Of(Callback id) {
  return IsLoaded() ? reinterpret_cast<F*>(g_functions[id]) : nullptr;
}

}  // namespace

API void nvtxMarkA(const char* message) {
  if (auto* function = Of<void(const char*)>(kMarkA)) function(message);
}

API int nvtxRangePushA(const char* message) {
  auto* function = Of<int(const char*)>(kRangePushA);
  return function ? function(message) : -1;
}

API int nvtxRangePop() {
  auto* function = Of<int()>(kRangePop);
  return function ? function() : -1;
}

API uint64_t nvtxRangeStartA(const char* message) {
  auto* function = Of<uint64_t(const char*)>(kRangeStartA);
  return function ? function(message) : 0;
}

API void nvtxRangeEnd(uint64_t id) {
  if (auto* function = Of<void(uint64_t)>(kRangeEnd)) function(id);
}
