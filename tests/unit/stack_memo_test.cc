// Stacks that are recalled without unwinding.
#include "shim/recorder/stack_memo.h"

#include <gtest/gtest.h>

#include <memory>

namespace ddbg::shim {
namespace {

// A made-up stack: the wrapper's frame (saved frame pointer, return address) and the return address of its caller's.
struct Stack {
  uintptr_t words[4];
  uintptr_t frame() const { return reinterpret_cast<uintptr_t>(words); }
};

int BothReturnAddresses(uintptr_t frame, const uintptr_t*, int, StackWord* words) {
  auto* at = reinterpret_cast<const uintptr_t*>(frame);
  words[0] = {frame + sizeof(uintptr_t), at[1]};
  words[1] = {frame + 3 * sizeof(uintptr_t), at[3]};
  return 2;
}

struct Memo {
  std::unique_ptr<StackMemo> memo = std::make_unique<StackMemo>();
  Interned stacks[16] = {};

  // As CaptureStack does. True: it need not have been unwound.
  bool Meet(const Stack& stack, int which) {
    if (Interned* known = memo->Recall(stack.frame(), {})) {
      EXPECT_EQ(known, &stacks[which]);
      return true;
    }
    memo->Learn(stack.frame(), {}, &stacks[which], {stack.words, 2, nullptr, 0}, BothReturnAddresses);
    return false;
  }
};

TEST(StackMemo, KnowsAStackThatWasMetTwice) {
  Memo memo;
  Stack stack = {{0, 0x1000, 0, 0x2000}};
  EXPECT_FALSE(memo.Meet(stack, 0));
  EXPECT_FALSE(memo.Meet(stack, 0));
  EXPECT_TRUE(memo.Meet(stack, 0));
  memo.memo->Forget();
  EXPECT_FALSE(memo.Meet(stack, 0));
}

// One line of a loop, reached on several ways: these stacks have all but their outer words in common.
TEST(StackMemo, KnowsEightThatTakeTurnsInOnePlace) {
  Memo memo;
  Stack stack = {{0, 0x1000, 0, 0}};
  for (int turn = 0; turn < 5; ++turn)
    for (int way = 0; way < 8; ++way) {
      stack.words[3] = 0x2000 + static_cast<uintptr_t>(way);
      EXPECT_EQ(memo.Meet(stack, way), turn >= 2) << "turn " << turn << ", way " << way;
    }
}

TEST(StackMemo, TakesNoOtherStackForOneItKnows) {
  Memo memo;
  Stack stack = {{0, 0x1000, 0, 0x2000}};
  for (int turn = 0; turn < 3; ++turn) memo.Meet(stack, 0);
  stack.words[3] = 0x3000;
  EXPECT_FALSE(memo.Meet(stack, 1));
  stack.words[3] = 0x2000;
  EXPECT_TRUE(memo.Meet(stack, 0));
}

}  // namespace
}  // namespace ddbg::shim
