// What launchers told this process by its environment: ranks, sizes, names of the job. Pure of other files of the
// system, so that a rank is the same wherever it is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddbg::shim {

// As they were at the first recorded call: Python programs set some in the process itself (torch.multiprocessing). Each
// that is set is kept in the trace, those that gave no rank too.
inline constexpr const char* kLauncherVariables[] = {"RANK",
                                                     "WORLD_SIZE",
                                                     "LOCAL_RANK",
                                                     "LOCAL_WORLD_SIZE",
                                                     "GROUP_RANK",
                                                     "NODE_RANK",
                                                     "MASTER_ADDR",
                                                     "MASTER_PORT",
                                                     "TORCHELASTIC_RUN_ID",
                                                     "TORCHELASTIC_RESTART_COUNT",
                                                     "TORCHELASTIC_MAX_RESTARTS",
                                                     "OMPI_COMM_WORLD_RANK",
                                                     "OMPI_COMM_WORLD_SIZE",
                                                     "OMPI_COMM_WORLD_LOCAL_RANK",
                                                     "PMI_RANK",
                                                     "PMI_SIZE",
                                                     "MPI_LOCALRANKID",
                                                     "PMIX_RANK",
                                                     "PMIX_NAMESPACE",
                                                     "OMPI_PARENT_PORT",
                                                     "PMI_SPAWNED",
                                                     "PALS_RANKID",
                                                     "PALS_LOCAL_RANKID",
                                                     "PALS_NODEID",
                                                     "PALS_APID",
                                                     "FLUX_TASK_RANK",
                                                     "FLUX_JOB_SIZE",
                                                     "FLUX_TASK_LOCAL_ID",
                                                     "FLUX_JOB_ID",
                                                     "HOROVOD_RANK",
                                                     "HOROVOD_SIZE",
                                                     "HOROVOD_LOCAL_RANK",
                                                     "HOROVOD_CROSS_RANK",
                                                     "SLURM_PROCID",
                                                     "SLURM_NTASKS",
                                                     "SLURM_STEP_NUM_TASKS",
                                                     "SLURM_LOCALID",
                                                     "SLURM_NODEID",
                                                     "SLURM_JOB_ID",
                                                     "SLURM_JOB_NUM_NODES",
                                                     "SLURM_STEP_ID",
                                                     "SLURM_RESTART_COUNT",
                                                     "PBS_JOBID",
                                                     "LSB_JOBID"};
inline constexpr int kLauncherVariableCount = sizeof(kLauncherVariables) / sizeof(kLauncherVariables[0]);

// Plain: filled on the application's thread, without allocation on its heap.
struct LauncherWords {
  char value[kLauncherVariableCount][128];  // "": not set
  bool accelerate;                          // some ACCELERATE_* is set
  bool batch;                               // in the batch script of Slurm itself, which is no task of srun
  const char* tf_config;                    // a copy in pages of its own, never freed; nullptr: not set, or over 64 KiB
  uint32_t tf_config_bytes;
  int32_t tf_rank, tf_size;      // by TF_CONFIG; −1: none
  int32_t told_rank, told_size;  // by TellRank; −1: none

  const char* Get(const char* name) const;  // "" if not set
  bool Has(const char* name) const { return *Get(name) != '\0'; }
  std::string_view TfConfig() const { return {tf_config ? tf_config : "", tf_config_bytes}; }
};

LauncherWords ReadLauncherWords();

// Where no variable says it: what the program tells a library by arguments (torch.distributed.init_process_group). Of
// use before the first recorded call only. Any thread.
void TellRank(int32_t rank, int32_t world_size) noexcept;

// −1: not told.
struct LaunchedAs {
  int32_t rank = -1, world_size = -1, local_rank = -1, node_rank = -1;
};
// RANK together with WORLD_SIZE comes first, whoever set them: by these PyTorch finds its peers, also where mpirun or
// Slurm have started the processes. Then mpirun and the like, Slurm, RANK alone, TF_CONFIG, TellRank.
LaunchedAs Ranks(const LauncherWords& words);

// Of one start of the job to the next of the same job: torchrun's restarts within Slurm's.
uint32_t AttemptId(const LauncherWords& words);

// "torchrun", "accelerate", "Open MPI mpirun", "MPICH hydra", "PMIx", "PALS", "Flux", "Horovod", "Slurm" or "".
std::string LauncherName(const LauncherWords& words);

}  // namespace ddbg::shim
