// Who this process is: what the launcher and the system say (DESIGN 5). Becomes the `Process` packet.
#pragma once

#include <cstdint>
#include <string>

#include "proto/ring_layout.h"
#include "shim/recorder/settings.h"

namespace ddbg::shim {

// Variables of launchers, as they were at the first recorded call. Plain arrays: filled on the application's thread
// without allocation, since Python programs set them in-process (torch.multiprocessing).
inline constexpr const char* kLauncherVariables[] = {"RANK",
                                                     "OMPI_COMM_WORLD_RANK",
                                                     "PMI_RANK",
                                                     "PMIX_RANK",
                                                     "SLURM_PROCID",
                                                     "PALS_RANKID",
                                                     "WORLD_SIZE",
                                                     "OMPI_COMM_WORLD_SIZE",
                                                     "PMI_SIZE",
                                                     "SLURM_NTASKS",
                                                     "LOCAL_RANK",
                                                     "OMPI_COMM_WORLD_LOCAL_RANK",
                                                     "MPI_LOCALRANKID",
                                                     "SLURM_LOCALID",
                                                     "PALS_LOCAL_RANKID",
                                                     "PMIX_NAMESPACE",
                                                     "SLURM_JOB_ID",
                                                     "SLURM_STEP_ID",
                                                     "SLURM_RESTART_COUNT",
                                                     "TORCHELASTIC_RUN_ID",
                                                     "TORCHELASTIC_RESTART_COUNT",
                                                     "PBS_JOBID",
                                                     "LSB_JOBID"};
inline constexpr int kLauncherVariableCount = sizeof(kLauncherVariables) / sizeof(kLauncherVariables[0]);

struct LauncherWords {
  char value[kLauncherVariableCount][128];  // "": not set
  const char* Get(const char* name) const;  // "" if not set
};

LauncherWords ReadLauncherWords();

// Rank on this node; -1 if the launcher does not say.
int32_t LocalRank(const LauncherWords& words);

// The serialised `Process` packet inside a Chunk. Reads /proc; sender thread only.
std::string EncodeProcess(const Settings& settings, const LauncherWords& launcher, const RegionHeader& header,
                          const std::string& stacks);

// The environment the process was started with, NUL-separated as in /proc/self/environ.
std::string InitialEnvironment();

}  // namespace ddbg::shim
