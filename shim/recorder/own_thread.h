// Threads of ddbg's own in the host: detached, with a small stack, and with all signals blocked, which are the
// program's.
#pragma once

namespace ddbg::shim {

// Runs `body(argument)`. False if the system gives no thread.
bool StartOwnThread(void* (*body)(void*), void* argument) noexcept;

}  // namespace ddbg::shim
