#include "shim/recorder/stack_memo.h"

#include <string.h>

namespace ddbg::shim {

void StackMemo::Learn(uintptr_t frame, const PythonPlace& python, Interned* stack, const Unwound& unwound,
                      FindWords find_words) noexcept {
  Entry& entry = entries_[Index(frame, python)];
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
  for (Entry& entry : entries_) entry.frame = 0;
}

}  // namespace ddbg::shim
