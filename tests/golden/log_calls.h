// The calls of a golden log.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/golden/log_job.h"

namespace ddbg::analyzer {

class LogCalls {
 public:
  explicit LogCalls(LogJob* job) : job_(*job) {}

  // One call of a rank at the job's time, from its words: Allreduce count=4 type=MPI_INT op=SUM @step. Collectives are
  // numbered by communicator, and what the call makes is made. False if the words make no sense.
  bool Add(int rank, const std::vector<std::string>& words);

 private:
  LogJob& job_;
  std::map<std::pair<int, uint32_t>, uint32_t> seq_;  // the next one, by rank and communicator
};

}  // namespace ddbg::analyzer
