// Ranks and sizes as several tell them at once: RANK by hand or by the script, mpirun's or Slurm's variables,
// TF_CONFIG, MPI itself. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// Value of a variable of the launcher as the process had it when recording began; "" if it was not set.
const std::string& LauncherVariable(const Process& process, std::string_view name);

// Where what ought to be equal differs: a sentence for each pair of sources. Not what differs by design: Slurm's
// numbers where it has started one torchrun or mpirun on each node.
std::vector<std::string> RankDisagreements(const Run& run);

}  // namespace ddbg::analyzer
