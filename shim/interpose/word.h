// Arguments and results of wrapped C functions: every integer and pointer is a 64-bit word in a register or on the
// stack, and what is narrower has an arbitrary upper half.
#pragma once

#include <cstdint>

namespace ddbg::shim {

using Word = intptr_t;

}  // namespace ddbg::shim
