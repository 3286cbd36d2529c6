// The run's immutable name: DDBG_RUN_ID, else from the launcher, else from the process itself.
#pragma once

#include <cstdint>
#include <string>

#include "shim/recorder/identity.h"

namespace ddbg::shim {

// Equal in all ranks of one launch on one node without any message. Across nodes only DDBG_RUN_ID, Slurm's and
// torchrun's ids are sure to be equal: an Open MPI or hydra launch has no name that all nodes know.
std::string RunId(const Settings& settings, const LauncherWords& launcher);

uint32_t AttemptId(const LauncherWords& launcher);

// "Open MPI mpirun", "MPICH hydra", "torchrun", "Slurm" or "".
std::string LauncherName(const LauncherWords& launcher);

// Command name of a process, "" if it cannot be read.
std::string CommandName(int pid);

}  // namespace ddbg::shim
