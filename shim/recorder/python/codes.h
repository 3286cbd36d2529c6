// The Python functions that stacks name: each distinct (name, file, first line) is sent once.
#pragma once

#include <cstdint>

#include "shim/recorder/python/layout.h"
#include "shim/recorder/python/readable_memory.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim {

// On the application's thread, once a process that has a Python. False: the system gives no memory.
bool StartPythonCodes() noexcept;

// Id of a code object's function, from 1 on; 0: it cannot be read, or there are too many. Code objects that say the
// same of themselves are one; two that lie in one place after each other are not.
uint32_t InternPythonCode(const PythonLayout& p, ReadableMemory& memory, uintptr_t code) noexcept;

// Sends its definition if that was not done. False: no room now.
bool SendPythonCode(ThreadState& t, uint32_t id) noexcept;

}  // namespace ddbg::shim
