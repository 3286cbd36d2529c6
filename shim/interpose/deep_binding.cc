#include "shim/interpose/deep_binding.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "shim/interpose/dlsym_hook.h"
#include "shim/interpose/library_copies.h"
#include "shim/interpose/real_function.h"

namespace ddbg::shim {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kBySlot = R_X86_64_JUMP_SLOT, kByTable = R_X86_64_GLOB_DAT, kByPointer = R_X86_64_64;
#else
constexpr uint32_t kBySlot = R_AARCH64_JUMP_SLOT, kByTable = R_AARCH64_GLOB_DAT, kByPointer = R_AARCH64_ABS64;
#endif

constexpr uint32_t kMaxObjects = 1024;

enum class State : uint32_t { kNothing, kBusy, kLoaded };
constinit std::atomic<State> g_state{State::kNothing};

// What was there before the first such load that has not been looked at; of who has set g_state to kBusy.
constinit uintptr_t g_before[kMaxObjects] = {};
constinit uint32_t g_before_count = 0;

struct Object {
  uintptr_t base = 0;
  const ElfW(Dyn) * dynamic = nullptr;
  uintptr_t read_only_low = 0, read_only_bytes = 0;  // of tables that are protected once they are filled in
  const char* path = nullptr;
};

struct NewObjects {
  Object object[64];
  uint32_t count = 0;
};

int AddBefore(dl_phdr_info* info, size_t, void*) {
  if (g_before_count < kMaxObjects) g_before[g_before_count++] = info->dlpi_addr;
  return 0;
}

int AddNew(dl_phdr_info* info, size_t, void* objects) {
  NewObjects* list = static_cast<NewObjects*>(objects);
  if (std::find(g_before, g_before + g_before_count, info->dlpi_addr) != g_before + g_before_count) return 0;
  if (list->count == std::size(list->object)) return 1;
  Object object;
  object.base = info->dlpi_addr;
  object.path = info->dlpi_name;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    uintptr_t address = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) object.dynamic = reinterpret_cast<const ElfW(Dyn)*>(address);
    if (segment.p_type == PT_GNU_RELRO) object.read_only_low = address, object.read_only_bytes = segment.p_memsz;
  }
  if (object.dynamic) list->object[list->count++] = object;
  return 0;
}

// The tables of one object that say what it refers to.
struct References {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * lists[2] = {};  // of calls, of all else
  size_t bytes[2] = {};
};

References ReferencesOf(const Object& object) {
  References found;
  auto at = [&](ElfW(Addr) address) { return address < object.base ? object.base + address : address; };
  for (const ElfW(Dyn)* entry = object.dynamic; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB: found.symbols = reinterpret_cast<const ElfW(Sym)*>(at(entry->d_un.d_ptr)); break;
      case DT_STRTAB: found.names = reinterpret_cast<const char*>(at(entry->d_un.d_ptr)); break;
      case DT_JMPREL: found.lists[0] = reinterpret_cast<const ElfW(Rela)*>(at(entry->d_un.d_ptr)); break;
      case DT_PLTRELSZ: found.bytes[0] = entry->d_un.d_val; break;
      case DT_RELA: found.lists[1] = reinterpret_cast<const ElfW(Rela)*>(at(entry->d_un.d_ptr)); break;
      case DT_RELASZ: found.bytes[1] = entry->d_un.d_val; break;
      default: break;
    }
  }
  return found;
}

void Store(const Object& object, uintptr_t* slot, uintptr_t value) {
  uintptr_t address = reinterpret_cast<uintptr_t>(slot);
  uintptr_t page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(address & ~(page_bytes - 1));
  bool read_only = address - object.read_only_low < object.read_only_bytes;
  if (read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  std::atomic_ref(*slot).store(value, std::memory_order_release);
  if (read_only) mprotect(page, page_bytes, PROT_READ);
}

void Bind(const Object& object, void* handle, const References& references, const ElfW(Rela) & reference) {
  uint32_t type = static_cast<uint32_t>(ELF64_R_TYPE(reference.r_info));
  if ((type != kBySlot && type != kByTable && type != kByPointer) || reference.r_addend != 0) return;
  const ElfW(Sym)& symbol = references.symbols[ELF64_R_SYM(reference.r_info)];
  if (symbol.st_shndx != SHN_UNDEF || !symbol.st_name) return;
  const char* name = references.names + symbol.st_name;
  HookedFunction hooked = FindHooked(name);
  if (!hooked.wrapper) return;
  void* own = dlsym(handle, name);
  if (!own || IsOwnCode(own)) return;
  if (!hooked.copies && FindRealFunction(name) != own) return;  // wrappers with copies go on by who calls
  Store(object, reinterpret_cast<uintptr_t*>(object.base + reference.r_offset),
        reinterpret_cast<uintptr_t>(hooked.wrapper));
}

void BindObject(const Object& object) {
  References references = ReferencesOf(object);
  if (!references.symbols || !references.names || !object.path || !*object.path) return;
  void* handle = dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return;
  for (int list = 0; list < 2; ++list)
    for (size_t i = 0; references.lists[list] && i < references.bytes[list] / sizeof(ElfW(Rela)); ++i)
      Bind(object, handle, references, references.lists[list][i]);
  dlclose(handle);
}

using Dlopen = void*(const char*, int);
constinit std::atomic<Dlopen*> g_real_dlopen{nullptr};

// For a libc in which none can be found: there is none then, and the program's own use has failed at its start.
void* NoDlopen(const char*, int) { return nullptr; }

// The version of glibc 2.34 and later, then the older ones of each architecture.
Dlopen* FindRealDlopen() {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27"})
    if (void* function = dlvsym(RTLD_NEXT, "dlopen", version)) return reinterpret_cast<Dlopen*>(function);
  return NoDlopen;
}

void NoteBefore() {
  State nothing = State::kNothing;
  if (!g_state.compare_exchange_strong(nothing, State::kBusy, std::memory_order_acquire)) return;
  g_before_count = 0;
  dl_iterate_phdr(AddBefore, nullptr);
  g_state.store(State::kLoaded, std::memory_order_release);
}

}  // namespace

static Dlopen* RealDlopen() {
  Dlopen* real = g_real_dlopen.load(std::memory_order_relaxed);
  if (!real) [[unlikely]] {
    real = FindRealDlopen();
    g_real_dlopen.store(real, std::memory_order_relaxed);
  }
  return real;
}

void BindDeeplyLoaded() noexcept {
  State loaded = State::kLoaded;
  if (g_state.load(std::memory_order_relaxed) != loaded) [[likely]]
    return;
  if (!g_state.compare_exchange_strong(loaded, State::kBusy, std::memory_order_acquire)) return;
  int saved_errno = errno;
  NewObjects objects;
  dl_iterate_phdr(AddNew, &objects);
  for (uint32_t i = 0; i < objects.count; ++i) BindObject(objects.object[i]);
  g_state.store(State::kNothing, std::memory_order_release);
  errno = saved_errno;
}

}  // namespace ddbg::shim

// From dlopen_hook.S: the function to go on to.
extern "C" [[gnu::visibility("hidden")]] void* ddbg_note_dlopen(const char*, int mode, const void* caller) {
  if (!ddbg::shim::IsOwnCode(caller)) {
    ddbg::shim::BindDeeplyLoaded();
    if (mode & RTLD_DEEPBIND) ddbg::shim::NoteBefore();
  }
  return reinterpret_cast<void*>(ddbg::shim::RealDlopen());
}
