// Named parts of steps, as the program marked them: ddbg_phase_begin and ddbg_phase_end (shim/ddbg.h), MPI_Pcontrol.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct Phase {
  std::string name;  // "loader", "forward", "backward", "optimizer", "checkpoint", "evaluation", or the program's own
  int64_t start_ns, end_ns;  // the process's own clock; one that did not end: the last thing seen of the process
  uint32_t thread;
  size_t begin;      // index of the call that began it
  bool open = true;  // it has not ended
};

// In order of their start; phases of one thread may lie in each other.
std::vector<Phase> PhasesOf(const Process& process);

// By process.
std::vector<std::vector<Phase>> PhasesOf(const Run& run);

}  // namespace ddbg::analyzer
