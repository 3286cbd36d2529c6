// Ranks that gave up because the timeout of their process group was over (PyTorch over gloo).
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Adds to the evidence that they did, or when they will; of a stall to the summary, too, whether the rank that they
// waited for was at work.
void ExplainByTimeout(Context& context, Finding* finding);

}  // namespace ddbg::analyzer
