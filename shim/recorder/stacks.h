// Stacks of return addresses and of the Python frames among them, interned: each distinct stack gets an id and is sent
// once.
//
// Without libunwind stacks are off and the trace says why; so it does of a Python that cannot be read.
#pragma once

#include <cstdint>
#include <string>

#include "shim/recorder/recorder.h"

namespace ddbg::shim {

// On the application's thread, once a process. Never fails: steps down to no stacks.
void StartStacks(StackMode mode) noexcept;

// A Python may be loaded after the first call. Any thread but one at a time; cheap once one is known.
void LookForPython() noexcept;

// "libunwind", "libunwind, CPython 3.11", "libunwind, CPython 3.15 not read: <why>", or "none: <why>".
std::string StacksDescription();

// Id of the caller's stack without ddbg's own frames; 0: none (off for this kind of call, table full, no unwinder).
uint32_t CaptureStack(ThreadState& t, bool communication_level) noexcept;

}  // namespace ddbg::shim
