// The kinds of late arrival that the program's own marks tell apart: a loader that stalls, storage that does.
#pragma once

#include "analyzer/find/lateness.h"
#include "analyzer/steps/phases.h"

namespace ddbg::analyzer {

// The phase in which the first culprit spends what it has more than the others; "" if no marks say so: at least half of
// the excess lies in it. `phases`: of all processes.
std::string PhaseOf(const Context& context, const Lateness& lateness, const std::vector<std::vector<Phase>>& phases);

// "loader_stall", "io_stall", else "straggler".
const char* KindOfPhase(const std::string& phase);

}  // namespace ddbg::analyzer
