// The trace of a job that has just ended: the collector still writes the last of it.
#pragma once

#include <optional>
#include <string>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct SettlePatience {
  int appear_ms = 500;  // for the first trace file to be there
  int quiet_ms = 1000;  // without a change, although some process has no end
  int total_ms = 3000;
};

// Loads the last attempt in `run_dir` as soon as every process has its end in the file, or patience ends. nullopt: no
// trace file was made.
std::optional<Run> LoadWhenSettled(const std::string& run_dir, const SettlePatience& patience);

}  // namespace ddbg::analyzer
