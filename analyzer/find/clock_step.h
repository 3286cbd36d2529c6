// What a reader should know of the clocks: one sentence each.
#pragma once

#include <string>
#include <vector>

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// `told`: the findings of the diagnosis, which need no second sentence.
std::vector<std::string> ClockCaveats(const Context& context, const std::vector<Finding>& told);

}  // namespace ddbg::analyzer
