// Rule 4: programs and streams that wait for each other in a circle.
#pragma once

#include <vector>

#include "analyzer/context/context.h"
#include "analyzer/context/waits.h"

namespace ddbg::analyzer {

// At most one finding. `nodes` as BuildWaits gives them.
std::vector<Finding> FindWaitCycle(Context& context, const std::vector<WaitNode>& nodes);

}  // namespace ddbg::analyzer
