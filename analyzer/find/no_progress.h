// Rule 5: a call that all have entered with equal arguments and that does not return: the library or the network.
#pragma once

#include <vector>

#include "analyzer/context/context.h"
#include "analyzer/context/waits.h"

namespace ddbg::analyzer {

// Less than this in a call that nothing keeps is no stall yet.
constexpr double kNoProgressSeconds = 10.0;

// At most one finding. `nodes` as BuildWaits gives them.
std::vector<Finding> FindNoProgress(Context& context, const std::vector<WaitNode>& nodes);

}  // namespace ddbg::analyzer
