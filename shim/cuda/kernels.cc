#include "shim/cuda/kernels.h"

#include <string.h>

#include <protozero/pbf_writer.hpp>
#include <string>

#include "shim/cuda/completion.h"
#include "shim/cuda/driver.h"
#include "shim/cuda/registration.h"
#include "shim/cuda/runtime.h"
#include "shim/interpose/handle_table.h"
#include "shim/recorder/intern_table.h"

namespace ddbg::shim::cuda {
namespace {

constexpr uint32_t kMaxNames = 1 << 14, kNameBytes = 8 << 20;
constexpr uint32_t kMaxNameBytes = 4096;  // of templates in templates

constinit HandleTable<uint32_t, 1 << 12> g_kernels;
constinit InternTable g_names;
constinit bool g_are_made = false;

void Write(ThreadState& t, Interned& entry, const char* name, uint32_t size) {
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer kernel(definition, 9);
    kernel.add_uint32(1, entry.id);
    kernel.add_bytes(2, name, size);
  }
  if (!PushDefinition(t, bytes)) return;
  entry.SetSent();
  NoteKernelName(entry.id, name, size);
}

uint32_t Define(ThreadState& t, uint64_t handle, const char* name) {
  // Kernels without a name are told apart by their handles.
  char nameless[1 + sizeof(handle)] = "";
  memcpy(nameless + 1, &handle, sizeof(handle));
  uint32_t size = name ? static_cast<uint32_t>(strnlen(name, kMaxNameBytes)) : 0;
  Interned* entry = size ? g_names.Find(name, size) : g_names.Find(nameless, sizeof(nameless));
  if (!entry) return 0;
  if (!entry->is_sent()) Write(t, *entry, name, size);
  if (!entry->is_sent()) return 0;
  g_kernels.Insert(handle, entry->id);
  return entry->id;
}

}  // namespace

bool MakeKernelTables() noexcept {
  if (g_are_made)
    g_kernels.Clear();
  else if (!g_kernels.Allocate())
    return false;
  g_are_made = true;
  return g_names.Make(kMaxNames, kNameBytes);
}

uint32_t KernelId(uint64_t handle) noexcept {
  const uint32_t* id = g_kernels.Find(handle);
  return id ? *id : 0;
}

uint32_t NameKernel(ThreadState& t, LibraryCopy* runtime, uint64_t handle) noexcept {
  const char* name = RegisteredName(handle);
  auto* ask = runtime ? FunctionOf<int(const char**, uint64_t)>(*runtime, kFuncGetName) : nullptr;
  // Not asked since an error is pending: at a later launch.
  if (!name && ask && !AskQuietly(*runtime, false, [&] { return ask(&name, handle); }) && HasPendingError(*runtime))
    return 0;
  return Define(t, handle, name);
}

uint32_t NameDriverKernel(ThreadState& t, uint64_t handle) noexcept {
  return Define(t, handle, DriverKernelName(handle));
}

}  // namespace ddbg::shim::cuda
