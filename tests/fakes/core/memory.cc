#include "tests/fakes/core/memory.h"

#include <stdint.h>
#include <sys/mman.h>

#include <map>
#include <mutex>

#include "tests/fakes/core/device.h"
#include "tests/fakes/core/settings.h"

namespace nullgpu {
namespace {

struct Blocks {
  std::mutex mutex;
  std::map<uintptr_t, MemoryBlock> by_address;
  size_t used[kMaxDevices] = {};
};

// Never destroyed, like all of the core: streams run to the end of the process.
Blocks& GetBlocks() {
  static Blocks* blocks = new Blocks;
  return *blocks;
}

size_t Pages(size_t bytes) { return ((bytes ? bytes : 1) + 4095) & ~size_t{4095}; }

bool OnDevice(MemoryKind kind) { return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged; }

void* Map(size_t bytes) {
  void* pointer = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pointer == MAP_FAILED ? nullptr : pointer;
}

Error Remove(void* pointer, bool on_device, bool unmap) {
  Blocks& blocks = GetBlocks();
  std::lock_guard lock(blocks.mutex);
  auto found = blocks.by_address.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == blocks.by_address.end() || OnDevice(found->second.kind) != on_device) return kInvalidValue;
  if (on_device) blocks.used[found->second.device] -= found->second.size;
  if (unmap) munmap(pointer, found->second.size);
  blocks.by_address.erase(found);
  return kSuccess;
}

}  // namespace

void* Allocate(int device, size_t bytes, MemoryKind kind) {
  Blocks& blocks = GetBlocks();
  if (bytes > TotalMemory()) return nullptr;
  size_t size = Pages(bytes);
  std::lock_guard lock(blocks.mutex);
  if (size > TotalMemory() - blocks.used[device]) return nullptr;
  void* pointer = Map(size);
  if (!pointer) return nullptr;
  blocks.by_address[reinterpret_cast<uintptr_t>(pointer)] = {kind, device, pointer, size};
  blocks.used[device] += size;
  return pointer;
}

Error Free(void* pointer) { return pointer ? Remove(pointer, true, true) : kSuccess; }

void* AllocateHost(size_t bytes) {
  void* pointer = Map(Pages(bytes));
  if (pointer) RegisterHost(pointer, Pages(bytes));
  return pointer;
}

Error FreeHost(void* pointer) { return pointer ? Remove(pointer, false, true) : kSuccess; }

Error RegisterHost(void* pointer, size_t bytes) {
  Blocks& blocks = GetBlocks();
  std::lock_guard lock(blocks.mutex);
  blocks.by_address[reinterpret_cast<uintptr_t>(pointer)] = {MemoryKind::kHost, CurrentDevice(), pointer, bytes};
  return kSuccess;
}

Error UnregisterHost(void* pointer) {
  return Remove(pointer, false, false) == kSuccess ? kSuccess : kHostMemoryNotRegistered;
}

MemoryBlock FindBlock(const void* pointer) {
  Blocks& blocks = GetBlocks();
  std::lock_guard lock(blocks.mutex);
  uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  auto after = blocks.by_address.upper_bound(address);
  if (after == blocks.by_address.begin()) return {};
  --after;
  return address < after->first + after->second.size ? after->second : MemoryBlock{};
}

size_t FreeMemory(int device) {
  Blocks& blocks = GetBlocks();
  std::lock_guard lock(blocks.mutex);
  return TotalMemory() - blocks.used[device];
}

size_t TotalMemory() { return GetSettings().memory_bytes; }

}  // namespace nullgpu
