#include "shim/gloo/library.h"

#include <sched.h>
#include <sys/mman.h>

#include <new>

#include "shim/gloo/functions.h"
#include "shim/interpose/definitions.h"
#include "shim/interpose/real_function.h"

namespace ddbg::shim::gloo {
namespace {

constexpr const char* kNames[] = {
#define DDBG_GLOO_NAME(call, symbol) #symbol,
#define DDBG_GLOO_HOOK(hook, symbol) #symbol,
#include "shim/gloo/names.def"
};

constinit std::atomic<uint64_t> g_attaching{0};  // token whose attachment has begun
constinit std::atomic<int> g_making{0};

}  // namespace

constinit Tables* g_tables = nullptr;
constinit std::atomic<uint64_t> g_attached{0};
constinit LibraryCopies g_copies(kNames, static_cast<uint32_t>(Function::kCount), "_ZN4gloo7Context8nextSlotEi");

Tables* NeedTables() noexcept {
  Tables* there = std::atomic_ref(g_tables).load(std::memory_order_acquire);
  if (there) return there;
  // Who comes second while the first is at it goes without: contexts are made by one thread at first.
  if (g_making.exchange(1, std::memory_order_acq_rel)) return nullptr;
  void* memory = mmap(nullptr, sizeof(Tables), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Tables* tables = new (memory) Tables;
  if (!tables->contexts.Allocate(true) || !tables->messages.Allocate(true) || !tables->stores.Allocate(true) ||
      !tables->uses.Allocate(true) || !tables->types.Allocate(true) || !tables->stacks.Allocate(true))
    return nullptr;
  std::atomic_ref(g_tables).store(tables, std::memory_order_release);
  return tables;
}

void* RealFunction(LibraryCopies& copies, const void* caller, uint32_t index, const char* name,
                   std::atomic<void*>& kept) noexcept {
  if (void* function = kept.load(std::memory_order_relaxed)) return function;
  if (LibraryCopy* copy = copies.Of(caller))
    if (void* function = copies.Function(*copy, index)) return function;
  void* function = RequireRealFunction(name);
  kept.store(function, std::memory_order_relaxed);
  return function;
}

bool AttachSlow(ThreadState& t) noexcept {
  if (!NeedTables()) return false;
  uint64_t before = g_attaching.load(std::memory_order_relaxed);
  if (before == t.token || !g_attaching.compare_exchange_strong(before, t.token, std::memory_order_acquire)) {
    // Another thread's first call: microseconds. Bounded, since this one may hold what that one needs.
    for (int turn = 0; turn < 1000 && g_attached.load(std::memory_order_acquire) != t.token; ++turn) sched_yield();
    return g_attached.load(std::memory_order_acquire) == t.token;
  }
  const LibraryCopy* copy = g_copies.Any();
  WriteLibrary(t, "gloo", "", copy ? copy->path : "");
  WriteLevel(t, "gloo", true, "every call of the dynamic library, and of one that exports its names");
  g_attached.store(t.token, std::memory_order_release);
  return true;
}

}  // namespace ddbg::shim::gloo
