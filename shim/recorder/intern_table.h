// Byte strings, each kept once and known by its place: stacks, and whatever else is sent to the collector once.
//
// Made of fresh zero pages, so that a table costs what is used of it. Any thread, no locks: two threads that meet new
// bytes at once may keep them twice, which does no harm.
#pragma once

#include <atomic>
#include <cstdint>

namespace ddbg::shim {

// `state`: 0 empty → 1 claimed → kKnown → kSent.
struct Interned {
  std::atomic<uint64_t> hash;
  std::atomic<uint32_t> state;
  uint32_t id;     // from 1 on, in the order in which they came
  uint32_t first;  // byte of the table's text
  uint32_t size;   // bytes

  static constexpr uint32_t kKnown = 2, kSent = 3;
  bool is_sent() const { return state.load(std::memory_order_relaxed) == kSent; }
  void SetSent() { state.store(kSent, std::memory_order_relaxed); }
};

class InternTable {
 public:
  // `entries` is a power of two. False: the system gives no memory.
  bool Make(uint32_t entries, uint32_t text_bytes) noexcept;
  void Forget() noexcept;  // in a forked child, which starts with nothing; the memory stays with the parent's copy
  bool is_made() const { return entries_ != nullptr; }

  // The entry of these bytes; nullptr: there is no room for new ones.
  Interned* Find(const void* bytes, uint32_t size) noexcept;

  const char* Bytes(const Interned& entry) const { return text_ + entry.first; }
  uint32_t IndexOf(const Interned& entry) const { return static_cast<uint32_t>(&entry - entries_); }
  Interned& at(uint32_t index) { return entries_[index]; }

 private:
  bool Fill(Interned& entry, const void* bytes, uint32_t size) noexcept;

  Interned* entries_ = nullptr;
  char* text_ = nullptr;
  uint32_t entry_count_ = 0;
  uint32_t text_bytes_ = 0;
  std::atomic<uint32_t> next_id_ = 0;
  std::atomic<uint32_t> next_byte_ = 0;
};

}  // namespace ddbg::shim
