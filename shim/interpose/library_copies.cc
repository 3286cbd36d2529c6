#include "shim/interpose/library_copies.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/interpose/loaded_objects.h"

// Made by the linker: the first and one past the last byte of this object.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char _end[] __attribute__((visibility("hidden")));

namespace ddbg::shim {
namespace {

// What a failed look-up of ours leaves behind must not be what the program reads next.
class KeepErrors {
 public:
  KeepErrors() : errno_(errno) {}
  ~KeepErrors() {
    dlerror();
    errno = errno_;
  }

 private:
  int errno_;
};

struct Extent {
  uintptr_t address, low, high;
};

int FindExtent(dl_phdr_info* info, size_t, void* wanted) {
  Extent* extent = static_cast<Extent*>(wanted);
  uintptr_t low = UINTPTR_MAX, high = 0;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    uintptr_t begin = info->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
    inside = inside || (extent->address >= begin && extent->address < end);
    if (begin < low) low = begin;
    if (end > high) high = end;
  }
  if (!inside) return 0;
  extent->low = low;
  extent->high = high;
  return 1;
}

void* NotOurs(void* function) { return IsOwnCode(function) ? nullptr : function; }

void* FindInTreeOf(const char* path, const char* name) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;  // the main program among others: it is not found by its name
  void* function = NotOurs(dlsym(handle, name));
  dlclose(handle);
  return function;
}

}  // namespace

bool IsOwnCode(const void* address) noexcept { return address >= __ehdr_start && address < _end; }

LibraryCopy* LibraryCopies::Register(void* function) noexcept {
  Dl_info info;
  if (!function || !dladdr(function, &info) || !info.dli_fbase || !info.dli_fname) return nullptr;
  uintptr_t base = reinterpret_cast<uintptr_t>(info.dli_fbase);
  for (LibraryCopy& copy : copies_)
    if (copy.base.load(std::memory_order_acquire) == base) return &copy;
  void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return nullptr;
  size_t bytes = sizeof(std::atomic<void*>) * count_;
  void* functions = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint32_t index = copies_taken_.fetch_add(1, std::memory_order_relaxed);
  if (functions == MAP_FAILED || index >= kMaxCopies) return nullptr;
  LibraryCopy& copy = copies_[index];
  copy.handle = handle;
  copy.functions = static_cast<std::atomic<void*>*>(functions);
  copy.path = info.dli_fname;  // of the loader, which keeps it while the object is loaded: `handle` sees to that
  copy.base.store(base, std::memory_order_release);
  return &copy;
}

void LibraryCopies::AddRange(uintptr_t low, uintptr_t bytes, LibraryCopy* copy) noexcept {
  uint32_t index = ranges_taken_.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxRanges) {
    ranges_taken_.store(kMaxRanges, std::memory_order_relaxed);
    return;
  }
  ranges_[index].low = low;
  ranges_[index].copy = copy;
  ranges_[index].bytes.store(bytes, std::memory_order_release);
}

LibraryCopy* LibraryCopies::OfSlow(uintptr_t address) noexcept {
  KeepErrors keep;
  Extent extent = {address, 0, 0};
  Dl_info caller;
  bool known = dl_iterate_phdr(FindExtent, &extent) && dladdr(reinterpret_cast<void*>(address), &caller);
  LibraryCopy* copy = known && caller.dli_fname ? Register(FindInTreeOf(caller.dli_fname, probe_)) : nullptr;
  // Called through a pointer from dlsym, by libffi for one, whose own dependencies say nothing.
  if (!copy) copy = looked_up_.load(std::memory_order_acquire);
  if (!copy) copy = Any();
  if (copy && known) AddRange(extent.low, extent.high - extent.low, copy);
  return copy;
}

LibraryCopy* LibraryCopies::Holding(void* function) noexcept {
  KeepErrors keep;
  return Register(NotOurs(function));
}

LibraryCopy* LibraryCopies::Any() noexcept {
  KeepErrors keep;
  LibraryCopy* copy = Register(NotOurs(dlsym(RTLD_NEXT, probe_)));
  return copy ? copy : Register(FindInLoadedObjects(probe_));
}

void* LibraryCopies::FunctionSlow(LibraryCopy& copy, uint32_t index) noexcept {
  std::atomic<void*>& kept = copy.functions[index];
  if (kept.load(std::memory_order_relaxed)) return nullptr;
  KeepErrors keep;
  void* function = NotOurs(dlsym(copy.handle, names_[index]));
  kept.store(function ? function : reinterpret_cast<void*>(kMissing), std::memory_order_relaxed);
  return function;
}

LibraryCopy* LibraryCopies::NoteLookUp(void* function) noexcept {
  KeepErrors keep;
  LibraryCopy* copy = Register(function);
  LibraryCopy* before = nullptr;
  if (!copy || looked_up_.compare_exchange_strong(before, copy, std::memory_order_acq_rel)) return copy;
  return before == copy ? copy : nullptr;
}

}  // namespace ddbg::shim
