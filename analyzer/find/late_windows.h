// When a rank held the others up by its own doing: how long it was outside of all calls, against the others at the same
// time. Who waits for somebody is in a call then, so blame does not spread. Says nothing of why.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// A part of the run in which a rank was late for a large share of it.
struct LateWindow {
  int64_t from_ns = 0, to_ns = 0;  // the process's own clock
  int64_t late_ns = 0;             // its own time beyond that of the others (their median)
};

// By process index, in order; empty for who is not late. With fewer than two ranks nobody is.
std::vector<std::vector<LateWindow>> FindLateWindows(const Context& context);

int64_t LateNs(const std::vector<LateWindow>& windows);

// The call of the process that begins first after its first late window has begun; kNoIndex if there is none.
size_t FirstLateCall(const Context& context, size_t process, const std::vector<LateWindow>& windows);

}  // namespace ddbg::analyzer
