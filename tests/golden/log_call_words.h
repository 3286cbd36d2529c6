// The words behind a call's name in a golden log: count=4, @site, #7, open, …
#pragma once

#include <string>

#include "analyzer/model/model.h"
#include "tests/golden/log_job.h"

namespace ddbg::analyzer {

struct CallWords {
  Call call;
  OpenDetail detail;
  std::string makes;  // rows:0,1: the communicator that it makes; "" if none
  // What an init of NCCL says instead of what it is in the log: rank, number of ranks, bus id; -1 and "": nothing.
  int claimed_rank = -1, claimed_size = -1;
  std::string claimed_device;
  bool unwritten = false;  // it was called, and is not in the trace
};

// Adds what a word says to `read`, and to the rank's definitions what it names. False if it makes no sense.
bool ReadWord(LogJob* job, int rank, const std::string& word, CallWords* read);

}  // namespace ddbg::analyzer
