// Differences between the ranks' settings and libraries (odd_settings.h) as causes: a job that runs well with them is
// healthy, one that never got going is likely to suffer from them.
#pragma once

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// Did nobody ever come out of a collective or receive a message in this job?
bool NeverGotGoing(const Context& context);

// A stall or failed start of MPI in a job that never got going, where a rank has other settings than most: names that.
// NCCL's rules do so by themselves.
void ExplainByDifferences(Context& context, Finding* finding);

// What is risky although nothing came of it: one sentence each, the most telling first, at most three.
std::vector<std::string> RiskyDifferences(const Context& context);

}  // namespace ddbg::analyzer
