// What `ddbg steps` prints. JSON: one object, schema "ddbg.steps/1".
#pragma once

#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/render/output.h"
#include "analyzer/report/step_times.h"
#include "analyzer/steps/steps.h"

namespace ddbg::analyzer {

// `detail`: a line for each step and rank instead of the summary.
void PrintStepsText(const Run& run, const Steps& steps, const std::vector<StepTimes>& times, bool detail, Output& out);
void PrintStepsJson(const Run& run, const Steps& steps, const std::vector<StepTimes>& times, Output& out);

}  // namespace ddbg::analyzer
