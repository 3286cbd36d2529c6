// Stacks by frame pointers, for machines without libunwind: as far as the program was built with them
// (-fno-omit-frame-pointer), and its innermost function in any case.
//
// On x86-64 and aarch64 a frame pointer is the address of two words: the frame pointer of the caller, and the return
// address. In code without them the register holds anything; so each next one must lie further out on the thread's
// stack, and what it says is a return address must lie in code that was loaded.
#pragma once

#include <cstdint>

#include "shim/recorder/recorder.h"
#include "shim/recorder/unwinder.h"

namespace ddbg::shim {

// Learns where code lies. At the start, and again when modules were loaded or unloaded (sender thread). What was loaded
// since ends a stack. Takes the loader's lock.
void LearnCode() noexcept;

// Return addresses from the wrapper's frame, t.guard, outwards, innermost first; ours may be among them. A thread's
// first walk looks up where its stack lies, which allocates; after that neither lock nor system call.
int WalkFramePointers(ThreadState& t, uintptr_t* frames, int most) noexcept;

// The words that such a walk from `frame` read, as FindStackWords has them.
int FindFramePointerWords(uintptr_t frame, const uintptr_t* returns_to, int count, StackWord* words) noexcept;

}  // namespace ddbg::shim
