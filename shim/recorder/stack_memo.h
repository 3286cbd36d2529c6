// Recognises a stack that this thread has been in before without unwinding it again.
//
// What is unwound follows from the words that unwinding reads: return addresses and saved frame pointers, each at a
// place that follows from the ones before. Hence a stack in which all these words hold what they held is the same
// stack; comparing them costs about a nanosecond a frame. They are read from the inside out and up to the first that
// differs, so that nothing beyond the end of a smaller stack in the same place is touched.
#pragma once

#include <cstdint>

#include "shim/recorder/unwinder.h"

namespace ddbg::shim {

struct Stack;  // an interned one (stacks.cc)

// Of one thread at a time. All zero is its empty state.
class StackMemo {
 public:
  // The stack that `frame`, the wrapper's, lies on; nullptr: not known.
  [[gnu::always_inline]] Stack* Recall(uintptr_t frame) const noexcept {
    const Entry& entry = entries_[Index(frame)];
    if (entry.frame != frame || entry.count == 0) return nullptr;
    for (uint32_t i = 0; i < entry.count; ++i) {
      if (*reinterpret_cast<const volatile uintptr_t*>(entry.words[i].address) != entry.words[i].value) return nullptr;
    }
    return entry.stack;
  }

  // Unwinding gave this stack: to be recalled when that happens a second time in a row at this frame.
  void Learn(uintptr_t frame, Stack* stack, const uintptr_t* frames, int count) noexcept;

  void Forget() noexcept;

 private:
  static constexpr uint32_t kEntries = 64;

  struct Entry {
    uintptr_t frame;
    Stack* stack;
    uint32_t count;  // 0: seen once
    StackWord words[2 * kMaxFrames];
  };

  // One call site has one frame address and one return address.
  static uint32_t Index(uintptr_t frame) noexcept {
    uintptr_t returns_to = *reinterpret_cast<const uintptr_t*>(frame + sizeof(uintptr_t));
    return static_cast<uint32_t>(((frame >> 4) ^ returns_to) * 0x9e3779b97f4a7c15ull >> 58);
  }

  Entry entries_[kEntries];
};

}  // namespace ddbg::shim
