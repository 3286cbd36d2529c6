// libunwind, found at run time. dlopen'ed RTLD_LOCAL: a direct link hijacks the host's C++ exceptions (mpi.md 0.8).
#pragma once

#include <cstdint>

namespace ddbg::shim {

inline constexpr int kMaxFrames = 48;

// On the application's thread, before the first real call: UCX hooks memory calls during MPI_Init. nullptr if it is
// there and has been used once, else why not.
const char* LoadUnwinder() noexcept;

// Return addresses of the caller and its callers, innermost first. Any thread, after LoadUnwinder.
int Backtrace(uintptr_t* frames, int most) noexcept;

// A word of the stack that an unwinding read, and what it held.
struct StackWord {
  uintptr_t address;
  uintptr_t value;
};

// The words that decide what is unwound from `frame` on: its return address, those of the `count` frames above it,
// which must return to `returns_to`, and where a frame is found by its frame pointer the word in which that was saved.
// `words` has room for 2 * count. Returns how many there are; 0 if not all of them are known: another architecture, a
// signal handler's frame, not the same stack.
int FindStackWords(uintptr_t frame, const uintptr_t* returns_to, int count, StackWord* words) noexcept;

}  // namespace ddbg::shim
