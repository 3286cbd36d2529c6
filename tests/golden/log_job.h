// The job that a golden log makes, line by line.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/model/model.h"
#include "tests/golden/log_comms.h"

namespace ddbg::analyzer {

struct LogJob {
  Run run;  // a process a rank, by rank; times are ns from the beginning of the log
  LogComms comms;
  int64_t now_ns = 0;      // of the line
  std::vector<int> turns;  // of the `repeat`s around the line, the innermost last
  std::set<int> unseen;    // ranks whose file is not there

  Process& process(int rank) { return run.processes[static_cast<size_t>(rank)]; }

  // "all" or "0,2-3".
  std::vector<int> Who(const std::string& text) const;

  // "0,2-3: text", for each of the ranks; false without a colon.
  bool ForRanks(const std::string& text, const std::function<void(int rank, const std::string& text)>& act) const;

  // The run as loading it would give it. Call last.
  Run Finish();
};

}  // namespace ddbg::analyzer
