// Recognises a stack that this thread has been in before without unwinding it again.
//
// What is unwound follows from the words that unwinding reads: return addresses and saved frame pointers, each at a
// place that follows from the ones before. Hence a stack in which all these words hold what they held is the same
// stack; comparing them costs about a nanosecond a frame. They are read from the inside out and up to the first that
// differs, so that nothing beyond the end of a smaller stack in the same place is touched. The frames of a Python
// interpreter follow from words in its memory in the same way; these come behind.
//
// A stack lies in one of eight entries. Were there one for it, two of the twenty stacks of a training step would mostly
// take it from each other and be unwound each time: 30 µs a step.
#pragma once

#include <cstdint>

#include "shim/recorder/intern_table.h"
#include "shim/recorder/python/frames.h"
#include "shim/recorder/unwinder.h"

namespace ddbg::shim {

// Of one thread at a time. All zero is its empty state.
class StackMemo {
 public:
  // The stack that `frame`, the wrapper's, lies on while its Python is at `python`; nullptr: not known.
  [[gnu::always_inline]] Interned* Recall(uintptr_t frame, const PythonPlace& python) noexcept {
    uint64_t tag = Tag(frame, python);
    const Entry& likely = entries_[Index(tag, last_[Index(tag, 0)])];
    return Holds(likely, frame, python) ? likely.stack : RecallElsewhere(tag, frame, python);
  }

  // What unwinding gave: return addresses, and the words its Python frames follow from.
  struct Unwound {
    const uintptr_t* returns_to;
    int count;
    const StackWord* python_words;
    int python_word_count;
  };

  // To be recalled when the same is found a second time in a row. `find_words` says which words it follows from.
  using FindWords = int (*)(uintptr_t frame, const uintptr_t* returns_to, int count, StackWord* words);
  void Learn(uintptr_t frame, const PythonPlace& python, Interned* stack, const Unwound& unwound,
             FindWords find_words) noexcept;

  void Forget() noexcept;

 private:
  static constexpr uint32_t kEntries = 64, kProbes = 8;

  struct Entry {
    uint64_t tag;  // 0: free. Stacks that differ further out have the same
    uintptr_t frame;
    uintptr_t python_state;
    Interned* stack;
    uint32_t count;  // 0: seen once
    StackWord words[2 * kMaxFrames + kMaxPythonWords];
  };

  // One call site has one frame address and one return address; all those in Python share these.
  static uint64_t Tag(uintptr_t frame, const PythonPlace& python) noexcept {
    uintptr_t returns_to = *reinterpret_cast<const uintptr_t*>(frame + sizeof(uintptr_t));
    return ((frame >> 4) ^ returns_to ^ python.position) * 0x9e3779b97f4a7c15ull | 1;
  }
  static uint32_t Index(uint64_t tag, uint32_t probe) noexcept {
    return (static_cast<uint32_t>(tag >> 58) + probe) % kEntries;
  }

  [[gnu::always_inline]] static bool Holds(const Entry& entry, uintptr_t frame, const PythonPlace& python) noexcept {
    if (entry.frame != frame || entry.count == 0 || entry.python_state != python.state) return false;
    for (uint32_t i = 0; i < entry.count; ++i) {
      if (*reinterpret_cast<const volatile uintptr_t*>(entry.words[i].address) != entry.words[i].value) return false;
    }
    return true;
  }

  [[gnu::noinline]] Interned* RecallElsewhere(uint64_t tag, uintptr_t frame, const PythonPlace& python) noexcept;

  // Where the stack is, or the place that it gets.
  Entry& EntryOf(uint64_t tag, const Interned* stack) noexcept;

  Entry entries_[kEntries];
  // The probe that found a stack last: a line that is reached on several ways comes on one of them for long.
  uint8_t last_[kEntries];
  uint32_t next_;  // the probe whose entry is given up where none is free
};

}  // namespace ddbg::shim
