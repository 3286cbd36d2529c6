// The environment of the process, before its main.
#pragma once

namespace ddbg::shim {

// Adds `entry`, "NAME=value", or puts it in the place of the first one of that name. The text is not copied. Not by
// setenv: a program may have its own (bash does), which does not work before main. False: the system gives no memory.
bool PutIntoEnvironment(char* entry) noexcept;

}  // namespace ddbg::shim
