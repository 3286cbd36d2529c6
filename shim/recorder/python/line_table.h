// CPython's line tables: from the place in the bytecode to the source line. Pure functions, any bytes are safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddbg::shim {

// The line of the instruction at byte `at` of a code object that starts at `first_line`; `table` is co_lnotab (3.8,
// 3.9) or co_linetable (3.10 and later) of Python 3.`minor`. first_line if the table says nothing.
int PythonLine(int minor, const unsigned char* table, size_t size, int first_line, int at) noexcept;

}  // namespace ddbg::shim
