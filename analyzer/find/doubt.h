// What is missing of a recording takes from the certainty of a verdict: a rank that was not traced, records that were
// lost, a file that was cut off, a rank that was not seen any more when it mattered.
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Lowers the confidence where the missing part could turn the verdict against another rank, and says so in its
// evidence. Evidence that lies in records of both sides keeps its weight.
void WeighGaps(const Context& context, Finding* finding);

}  // namespace ddbg::analyzer
