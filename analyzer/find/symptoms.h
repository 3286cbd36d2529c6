// What else happened around a finding: failed allocations and refused calls before it, aborts and broken communicators
// after it.
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Adds to the finding's evidence.
void AddSymptoms(Context& context, Finding* finding);

}  // namespace ddbg::analyzer
