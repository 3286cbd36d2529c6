// Stacks of return addresses, interned: each distinct stack gets an id and is sent once.
//
// Without libunwind stacks are off and the trace says why.
#pragma once

#include <cstdint>
#include <string>

#include "shim/recorder/recorder.h"

namespace ddbg::shim {

// On the application's thread, once a process. Never fails: steps down to no stacks.
void StartStacks(StackMode mode) noexcept;

// "libunwind", "off", or "none: <why>".
std::string StacksDescription();

// Id of the caller's stack without ddbg's own frames; 0: none (off for this kind of call, table full, no unwinder).
uint32_t CaptureStack(ThreadState& t, bool communication_level) noexcept;

}  // namespace ddbg::shim
