#include "shim/recorder/stack_memo.h"

#include <string.h>

namespace ddbg::shim {

Interned* StackMemo::RecallElsewhere(uint64_t tag, uintptr_t frame, const PythonPlace& python) noexcept {
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    const Entry& entry = entries_[Index(tag, probe)];
    if (entry.tag == 0) break;
    if (entry.tag != tag || !Holds(entry, frame, python)) continue;
    last_[Index(tag, 0)] = static_cast<uint8_t>(probe);
    return entry.stack;
  }
  return nullptr;
}

StackMemo::Entry& StackMemo::EntryOf(uint64_t tag, const Interned* stack) noexcept {
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    Entry& entry = entries_[Index(tag, probe)];
    if (entry.tag == 0 || (entry.tag == tag && entry.stack == stack)) return entry;
  }
  return entries_[Index(tag, next_++ % kProbes)];
}

void StackMemo::Learn(uintptr_t frame, const PythonPlace& python, Interned* stack, const Unwound& unwound,
                      FindWords find_words) noexcept {
  uint64_t tag = Tag(frame, python);
  Entry& entry = EntryOf(tag, stack);
  bool seen = entry.tag == tag && entry.frame == frame && entry.stack == stack && entry.python_state == python.state &&
              entry.count == 0;
  entry.tag = tag;
  entry.frame = frame;
  entry.python_state = python.state;
  entry.stack = stack;
  entry.count = 0;
  if (!seen) return;
  int native = find_words(frame, unwound.returns_to, unwound.count, entry.words);
  // A Python that is there and could not be read: nothing tells when its frames change.
  if (native == 0 || (python.state && unwound.python_word_count == 0)) return;
  if (unwound.python_word_count > 0)
    memcpy(entry.words + native, unwound.python_words, unwound.python_word_count * sizeof(StackWord));
  entry.count = static_cast<uint32_t>(native + unwound.python_word_count);
}

void StackMemo::Forget() noexcept {
  for (Entry& entry : entries_) entry.tag = entry.frame = 0;
}

}  // namespace ddbg::shim
