// The run's immutable name: DDBG_RUN_ID, else from the launcher, else from the process itself.
#pragma once

#include <string>

#include "shim/recorder/launcher.h"
#include "shim/recorder/settings.h"

namespace ddbg::shim {

// Equal in all ranks of one launch on one node without any message. Across nodes only DDBG_RUN_ID, Slurm's and
// torchrun's ids are sure to be equal: an Open MPI or hydra launch has no name that all nodes know.
std::string RunId(const Settings& settings, const LauncherWords& launcher);

}  // namespace ddbg::shim
