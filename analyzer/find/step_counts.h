// How far each rank had come in the program's own steps, where the ranks differ in it.
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Adds to a mismatch's or an absence's summary: "rank 0 is in step 6, its 7th; ranks 1, 2 ended after step 5, their
// 6th." Only of steps that the program, or a hook in it, marked.
void TellStepCounts(const Context& context, Finding* finding);

}  // namespace ddbg::analyzer
