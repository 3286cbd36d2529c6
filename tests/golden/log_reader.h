// Reads a golden log (README.md in this folder) into the analyzer's model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/model.h"

namespace ddbg::analyzer {

struct GoldenLog {
  Run run;
  std::string verdict;                          // "fault", "healthy", "unknown"
  std::map<std::string, std::string> expected;  // kind, rank, seq, …
  std::string error;                            // first line that makes no sense; "" if none
};

GoldenLog ReadGoldenLog(const std::string& text);

}  // namespace ddbg::analyzer
