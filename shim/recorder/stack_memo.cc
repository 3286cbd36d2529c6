#include "shim/recorder/stack_memo.h"

#include <string.h>

namespace ddbg::shim {

uint32_t StackMemo::WayOf(const Set& set, uint64_t tag, const Interned* stack) noexcept {
  for (uint32_t way = 0; way < kWays; ++way)
    if (set.tags[way] == tag && set.entries[way].stack == stack) return way;
  for (uint32_t way = 0; way < kWays; ++way)
    if (set.tags[way] == 0) return way;
  return next_++ % kWays;
}

void StackMemo::Learn(uintptr_t frame, const PythonPlace& python, Interned* stack, const Unwound& unwound,
                      FindWords find_words) noexcept {
  uint64_t tag = Tag(frame, python);
  Set& set = sets_[SetOf(tag)];
  uint32_t way = WayOf(set, tag, stack);
  set.tags[way] = tag;
  Entry& entry = set.entries[way];
  bool seen = entry.frame == frame && entry.stack == stack && entry.python_state == python.state && entry.count == 0;
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
  for (Set& set : sets_) memset(set.tags, 0, sizeof(set.tags));
}

}  // namespace ddbg::shim
