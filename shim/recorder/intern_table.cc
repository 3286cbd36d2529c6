#include "shim/recorder/intern_table.h"

#include <string.h>
#include <sys/mman.h>

namespace ddbg::shim {
namespace {

constexpr uint32_t kProbes = 32;

void* Pages(uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

uint64_t Hash(const void* bytes, uint32_t size) {
  const char* at = static_cast<const char*>(bytes);
  uint64_t h = 0x9e3779b97f4a7c15ull + size, word = 0;
  for (uint32_t done = 0; done < size; done += sizeof(word), word = 0) {
    memcpy(&word, at + done, size - done < sizeof(word) ? size - done : sizeof(word));
    h = (h ^ word) * 0x9fb21c651e98df25ull;
    h ^= h >> 28;
  }
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  h ^= h >> 29;
  return h ? h : 1;
}

}  // namespace

bool InternTable::Make(uint32_t entries, uint32_t text_bytes) noexcept {
  Forget();
  void* memory = Pages(entries * sizeof(Interned) + uint64_t{text_bytes});
  if (!memory) return false;
  entries_ = static_cast<Interned*>(memory);  // zero is an entry's empty state; constructing would touch every page
  text_ = static_cast<char*>(memory) + entries * sizeof(Interned);
  entry_count_ = entries;
  text_bytes_ = text_bytes;
  return true;
}

void InternTable::Forget() noexcept {
  entries_ = nullptr;
  next_id_.store(0, std::memory_order_relaxed);
  next_byte_.store(0, std::memory_order_relaxed);
}

bool InternTable::Fill(Interned& entry, const void* bytes, uint32_t size) noexcept {
  uint32_t first = next_byte_.load(std::memory_order_relaxed);
  do {
    if (size > text_bytes_ - first) return false;
  } while (!next_byte_.compare_exchange_weak(first, first + size, std::memory_order_relaxed));
  memcpy(text_ + first, bytes, size);
  entry.first = first;
  entry.size = size;
  entry.id = next_id_.fetch_add(1, std::memory_order_relaxed) + 1;
  entry.state.store(Interned::kKnown, std::memory_order_release);  // pairs with the acquire in Find
  return true;
}

Interned* InternTable::Find(const void* bytes, uint32_t size) noexcept {
  uint64_t hash = Hash(bytes, size);
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    Interned& entry = entries_[(hash + probe) & (entry_count_ - 1)];
    uint64_t seen = entry.hash.load(std::memory_order_relaxed);
    if (seen == hash) {
      bool known = entry.state.load(std::memory_order_acquire) >= Interned::kKnown;
      if (known && entry.size == size && memcmp(Bytes(entry), bytes, size) == 0) return &entry;
      continue;
    }
    if (seen != 0) continue;
    if (!entry.hash.compare_exchange_strong(seen, hash, std::memory_order_relaxed)) continue;
    entry.state.store(1, std::memory_order_relaxed);
    return Fill(entry, bytes, size) ? &entry : nullptr;
  }
  return nullptr;
}

}  // namespace ddbg::shim
