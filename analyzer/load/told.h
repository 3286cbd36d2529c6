// What a process's file says, before another thing is put in its place (Process::told).
#pragma once

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

inline Told& KeepTold(Process* process) {
  if (!process->told)
    process->told = Told{
        process->mpi_rank, process->mpi_size, process->launcher_rank, process->launcher_world_size, process->world, {}};
  return *process->told;
}

inline void KeepTold(Process* process, const Communicator& comm) { KeepTold(process).comms.try_emplace(comm.id, comm); }

}  // namespace ddbg::analyzer
