// From the place where members of a communicator are seen to be out of step to the place where one left the path.
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// `finding` names culprits that are out of step with the rest of `group` at `seq`. If one of them made or left out
// collectives earlier, which went unnoticed because they met others of the same kind, the finding is moved there.
void ExplainByShift(Context& context, const CommGroup& group, size_t seq, Finding* finding);

}  // namespace ddbg::analyzer
