#include "analyzer/verdict/marks_alone.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/situation.h"
#include "analyzer/load/liveness.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/duration.h"
#include "analyzer/model/format.h"
#include "analyzer/report/run_summary.h"
#include "analyzer/steps/phases.h"
#include "analyzer/steps/step_marks.h"

namespace ddbg::analyzer {
namespace {

constexpr const char kNoCall[] = "Cannot tell: no call of MPI, NCCL or gloo was recorded";

bool HasMarks(const Process& process) {
  return std::any_of(process.calls.begin(), process.calls.end(), [](const Call& call) { return IsMark(call); });
}

// "marked 64 steps (the last is 63)"
std::string StepsText(const Run& run) {
  MarkedSteps steps = FindMarkedSteps(run);
  if (steps.numbers.empty()) return "marked no step";
  return fmt::format("marked {} (the last is {})", Counted(steps.numbers.size(), "step"), steps.numbers.back());
}

// ", in \"loader\" for 31 s": the innermost phase that has not ended.
std::string PhaseText(const Run& run) {
  const Process& process = run.processes[0];
  const Phase* open = nullptr;
  std::vector<std::vector<Phase>> phases = PhasesOf(run);
  for (const Phase& phase : phases[0])
    if (phase.end_ns >= process.last_seen_ns) open = &phase;
  int64_t now = std::max(process.last_seen_ns, NowOf(process));
  if (open) return fmt::format(", in \"{}\" for {}", open->name, DurationText(now - open->start_ns));
  return fmt::format(", its last mark {} ago", DurationText(now - process.last_seen_ns));
}

}  // namespace

MarksAlone JudgeMarksAlone(const Run& run) {
  auto marked = std::count_if(run.processes.begin(), run.processes.end(), HasMarks);
  if (marked == 0) return {false, std::string(kNoCall) + "."};
  // Ranks of a job may communicate in ways that are not seen.
  if (run.processes.size() > 1 || WorldSize(run) > 1)
    return {false, fmt::format("{}, by which ranks could be compared; {} of {} {}.", kNoCall, marked,
                               run.processes.size() == 1 ? "the one process"
                                                         : fmt::format("{} processes", run.processes.size()),
                               StepsText(run))};
  const Process& process = run.processes[0];
  if (process.lost_total() > 0)
    return {false, fmt::format("{}, and a part of what the process marked is missing from the trace.", kNoCall)};
  switch (process.end.how) {
    case ProcessEnd::kExited:
      return {process.end.code == 0,
              fmt::format("{} in a process that communicates with nobody: it {} and exited with code {}.",
                          process.end.code == 0 ? "No fault found" : "Cannot tell what is wrong", StepsText(run),
                          process.end.code)};
    case ProcessEnd::kRunning:
      return {false, fmt::format("Cannot tell: a process that communicates with nobody is running{}; it {}.",
                                 PhaseText(run), StepsText(run))};
    default:
      return {false, fmt::format("{}; the process {} and {}.", kNoCall, StepsText(run), DescribeEnd(process.end))};
  }
}

}  // namespace ddbg::analyzer
