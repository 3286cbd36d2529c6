// Who gave PyTorch the work that its own threads hand to gloo: ProcessGroupGloo queues a piece of work on the program's
// thread, where the program's Python is, and runs it on one of its own.
#pragma once

#include <cstdint>

namespace ddbg::shim::gloo {

struct QueuedWork {
  bool running = false;  // this thread runs a piece of work now
  uint32_t stack = 0;    // of who queued it; 0: not known
};
QueuedWork CurrentWork() noexcept;

}  // namespace ddbg::shim::gloo
