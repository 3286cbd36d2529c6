#include "shim/recorder/stack_memo.h"

namespace ddbg::shim {

void StackMemo::Learn(uintptr_t frame, Stack* stack, const uintptr_t* frames, int count) noexcept {
  Entry& entry = entries_[Index(frame)];
  bool seen = entry.frame == frame && entry.stack == stack && entry.count == 0;
  entry.count = seen ? static_cast<uint32_t>(FindStackWords(frame, frames, count, entry.words)) : 0;
  entry.frame = frame;
  entry.stack = stack;
}

void StackMemo::Forget() noexcept {
  for (Entry& entry : entries_) entry.frame = 0;
}

}  // namespace ddbg::shim
