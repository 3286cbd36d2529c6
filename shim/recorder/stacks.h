// Stacks of return addresses and of the Python frames among them, interned: each distinct stack gets an id and is sent
// once.
//
// Without libunwind they go as far as frame pointers do, and the trace says so; so it does of a Python that cannot be
// read.
#pragma once

#include <cstdint>
#include <string>

#include "shim/recorder/recorder.h"

namespace ddbg::shim {

// On the application's thread, once a process. Never fails: steps down to no stacks.
void StartStacks(StackMode mode) noexcept;

// "libunwind" or "frame pointers: <why>", with ", CPython 3.11" or ", CPython 3.15 not read: <why>"; or "none: <why>".
std::string StacksDescription();

// Modules were loaded or unloaded: a Python may have come with them. Sender thread.
void StacksMeetNewModules() noexcept;

// Id of the caller's stack without ddbg's own frames; 0: none (off for this kind of call, table full).
uint32_t CaptureStack(ThreadState& t, bool communication_level) noexcept;

}  // namespace ddbg::shim
