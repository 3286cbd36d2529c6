// Collectives of two threads at once on one communicator.
#pragma once

#include <vector>

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Ranks that differ in a call of which the order was left to chance say nothing: takes such findings out.
void DropWhatOverlapsExplain(std::vector<Finding>* findings);

}  // namespace ddbg::analyzer
