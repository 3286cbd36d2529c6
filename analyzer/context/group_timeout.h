// A rank that gave up a wait because the time of its process group was over, as gloo does by an exception. That ends a
// hang and is not its cause; the call it waited in is shown as never returned.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct GroupTimeout {
  size_t event = 0;       // index into Process::calls: of the exception that nobody caught
  int64_t t_ns = 0;       // when, on the process's own clock
  int64_t limit_ms = -1;  // the group's timeout; -1: not told
};

// By the message of the exception that ended its main thread, which the hooks in PyTorch tell.
std::optional<GroupTimeout> TimeoutOf(const Process& process);

}  // namespace ddbg::analyzer
