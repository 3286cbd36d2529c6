// Steps side by side: how long they and their parts take, which rank is the slowest of each, which stand out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/report/step_times.h"

namespace ddbg::analyzer {

struct PartSpread {
  std::string name;  // "duration", "wait", "loader", …
  size_t count = 0;
  int64_t p50_ns = 0, p95_ns = 0, max_ns = 0;
  size_t max_process = 0;
  int64_t max_step = 0;
};

// A step over all ranks.
struct StepOfAll {
  int64_t number = 0;
  size_t ranks = 0;
  int64_t duration_ns = 0;  // the longest
  size_t slowest = 0;       // process with the most time that was not waited: what the others waited for
  int64_t slowest_work_ns = 0;
  int64_t median_work_ns = 0;  // of all ranks
  bool outlier = false;        // takes far longer than steps do
};

struct RankOfAll {
  size_t process = 0;
  size_t steps = 0, times_slowest = 0;  // slowest: by more than a tenth over the median of the ranks
  int64_t duration_p50_ns = 0, work_p50_ns = 0, work_max_ns = 0, wait_p50_ns = 0;
};

struct StepSummary {
  std::vector<PartSpread>
      parts;  // duration first, then phases in the order of a step, then what is known without marks
  std::vector<StepOfAll> steps;
  std::vector<RankOfAll> ranks;
};

// Names of the columns that `times` have, in the order of a step.
std::vector<std::string> PartNames(const std::vector<StepTimes>& times);
// ns of one of these; −1: the step has none.
int64_t PartOf(const StepTimes& times, const std::string& name);

StepSummary SummarizeSteps(const std::vector<StepTimes>& times);

}  // namespace ddbg::analyzer
