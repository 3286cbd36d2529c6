// Reads a golden log (README.md in this folder) into the analyzer's model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct GoldenLog {
  Run run;
  std::string verdict;                          // "fault", "healthy", "unknown"
  std::map<std::string, std::string> expected;  // kind, rank, seq, …
  std::string error;                            // first line that makes no sense; "" if none
  size_t steps = 0;                             // lines that were carried out, those of `repeat` as often as it says
};

// `most_steps`: only so many of the steps, as if the job were looked at then, while it runs.
GoldenLog ReadGoldenLog(const std::string& text, size_t most_steps = SIZE_MAX);

}  // namespace ddbg::analyzer
