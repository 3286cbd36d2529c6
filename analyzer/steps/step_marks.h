// Steps as the program marked them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/steps/step_spread.h"

namespace ddbg::analyzer {

struct MarkedSteps {
  std::string how;               // "" if there are none
  std::vector<int64_t> numbers;  // by turn
  std::vector<TurnEdges> edges;  // by process; empty where a process has no marks
};

// By ddbg_step; else by a phase that recurs.
MarkedSteps FindMarkedSteps(const Run& run);

}  // namespace ddbg::analyzer
