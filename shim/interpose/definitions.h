// Definitions that every family of calls writes when its first call comes.
#pragma once

#include "shim/recorder/recorder.h"

namespace ddbg::shim {

// The library that is called. `version` and `path` may be "".
void WriteLibrary(ThreadState& t, const char* api, const char* version, const char* path) noexcept;

// What of an API is seen at all, so that nobody takes "not seen" for "not done". `why` is for people: what is not seen
// although it is on, or what turns it on.
void WriteLevel(ThreadState& t, const char* name, bool on, const char* why) noexcept;

}  // namespace ddbg::shim
