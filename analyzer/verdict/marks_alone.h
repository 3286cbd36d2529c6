// What can be told of a run in which nobody called MPI, NCCL or gloo: by what its program marked, and how it ended.
#pragma once

#include <string>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct MarksAlone {
  bool healthy = false;  // one process that communicates with nobody, and did what it had to
  std::string summary;
};
// Of a run without a finding.
MarksAlone JudgeMarksAlone(const Run& run);

}  // namespace ddbg::analyzer
