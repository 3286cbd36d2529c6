// From the place where ranks are seen to wait or to disagree to the place where one of them left the common path, over
// all communicators (path.h). Left out on a row's communicator, a call shows as two ranks that wait for each other on
// two communicators, which looks like an inversion of their order.
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Moves `finding`, of ranks that are out of step, to the departure that explains it; leaves it where none is certain.
void ExplainByPath(Context& context, Finding* finding);

}  // namespace ddbg::analyzer
