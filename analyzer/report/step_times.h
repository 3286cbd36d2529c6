// What the time of each step went into, on each process: `ddbg steps`. Plain data; prints nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/align/timeline.h"
#include "analyzer/match/match.h"
#include "analyzer/model/model.h"
#include "analyzer/steps/phases.h"
#include "analyzer/steps/steps.h"

namespace ddbg::analyzer {

// Of one step on one process; ns.
struct StepTimes {
  size_t process = 0;
  int64_t number = 0;
  int64_t start_ns = 0;  // on the run's axis
  int64_t duration_ns = 0;
  int64_t calls_ns = 0;  // in calls that communicate or wait for the device, all threads together, each moment once
  int64_t wait_ns = 0;   // of these, what was waited for others: in a collective until the last member came; in
                         // receives, waits and device syncs all of it
  int64_t lead_ns = 0;   // the program's own time before its first such call: loader, forward, unless marked
  int64_t own_ns = 0;    // neither in calls nor in a marked phase
  bool open = false;     // had not ended when the recording did
  std::map<std::string, int64_t> phases;  // as marked; they may lie in each other, and calls in them

  int64_t work_ns() const { return duration_ns - wait_ns; }
};

// By process, then step. A step that is cut off by the window of a load is there as far as it goes.
std::vector<StepTimes> TimesOfSteps(const Run& run, const Matching& matching, const Steps& steps,
                                    const Timeline& timeline, const std::vector<std::vector<Phase>>& phases);

}  // namespace ddbg::analyzer
