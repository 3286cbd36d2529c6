// The turns of a job's main loop ("steps"): where each begins and ends on every process, under numbers that are equal
// on all ranks for one turn. From the program's own marks where there are some, else inferred from what recurs in its
// calls. Built once per run; refers to it by index.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/match/match.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

enum class StepSource { kNone, kMarks, kInferred };

struct Step {
  int64_t number;               // as marked; counted from 0 where inferred; equal on all ranks for one turn of the loop
  int64_t start_ns, end_ns;     // the process's own clock
  size_t first_call, end_call;  // indices into Process::calls, [first, end)
};

class Steps {
 public:
  Steps(const Run& run, const Matching& matching);

  StepSource source() const { return source_; }
  // One sentence for people: by what the steps are known, or why there are none.
  const std::string& how() const { return how_; }
  // In order of time; they do not overlap. Empty where the process has none.
  const std::vector<Step>& of(size_t process) const { return steps_[process]; }
  // Number of the step that a call belongs to; -1: outside of all steps.
  int64_t NumberOf(size_t process, size_t call) const;
  // The same of a time on the process's own clock.
  int64_t NumberAt(size_t process, int64_t t_ns) const;

 private:
  void Infer(const Run& run, const Matching& matching);

  StepSource source_ = StepSource::kNone;
  std::string how_;
  std::vector<std::vector<Step>> steps_;  // by process
};

// "marks", "inferred"; "" for kNone.
const char* SourceName(StepSource source);

}  // namespace ddbg::analyzer
