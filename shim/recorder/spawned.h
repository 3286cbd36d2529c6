// Worlds that MPI_Comm_spawn makes within a run, as the launcher's environment tells of them. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "shim/recorder/launcher.h"

namespace ddbg::shim {

struct SpawnedAs {
  bool spawned = false;
  uint32_t world = 0;                           // n-th that was spawned in the launch, from 1; 0: not known
  int32_t parent_world = -1, parent_rank = -1;  // of the spawn's root; -1: not known
};

SpawnedAs Spawned(const LauncherWords& words);

// The job's name of PMIx: of a world that was spawned, that of the job which the launcher started. "" if there is none.
std::string LaunchedJob(const LauncherWords& words);

}  // namespace ddbg::shim
