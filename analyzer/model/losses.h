// What of a process is missing from its trace.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// Calls of it are missing, so that what it did not do cannot be told from what was not recorded. A lost stack is no
// lost call.
bool LacksCalls(const Process& process);

// What kLoss… is in loss.def: its text, and its name in snake case.
std::string_view LossText(size_t cause);
std::string LossName(size_t cause);

}  // namespace ddbg::analyzer
