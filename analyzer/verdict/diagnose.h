// From a run to its verdict. Prints nothing; render/diagnosis_* do.
#pragma once

#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// Applies every rule, puts the findings in the verdict order of DESIGN 7 and drops those that an earlier one explains.
Diagnosis DiagnoseRun(const Run& run);

inline bool IsHealthy(const Diagnosis& diagnosis) { return diagnosis.verdict == Diagnosis::kHealthy; }

}  // namespace ddbg::analyzer
