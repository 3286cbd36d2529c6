#include "analyzer/report/reached.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/match/match.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/steps/phases.h"
#include "analyzer/steps/steps.h"

namespace ddbg::analyzer {
namespace {

void AddSteps(const Run& run, const Steps& steps, Reached* reached) {
  reached->step_source = SourceName(steps.source());
  for (size_t i = 0; i < run.processes.size(); ++i) {
    if (steps.of(i).empty()) continue;
    int64_t last = steps.of(i).back().number;
    reached->step = std::max(reached->step.value_or(last), last);
    reached->step_of_all = std::min(reached->step_of_all.value_or(last), last);
  }
}

void AddCheckpoint(const Run& run, const Steps& steps, Reached* reached) {
  std::vector<std::vector<Phase>> phases = PhasesOf(run);
  for (size_t i = 0; i < run.processes.size(); ++i)
    for (const Phase& phase : phases[i]) {
      bool ended = phase.end_ns < run.processes[i].last_seen_ns;
      int64_t step = phase.name == "checkpoint" && ended ? steps.NumberAt(i, phase.start_ns) : -1;
      if (step >= 0) reached->checkpoint_step = std::max(reached->checkpoint_step.value_or(step), step);
    }
}

// The last sequence number that all have finished; kNoIndex: none is in the trace.
size_t LastOfAll(const Run& run, const CommGroup& group) {
  size_t end = group.longest;
  for (const Member& member : group.members) end = std::min(end, member.calls.size());
  while (end-- > group.first) {
    bool all = std::all_of(group.members.begin(), group.members.end(), [&](const Member& member) {
      size_t call = member.At(end);
      return call != kNoIndex && !run.processes[member.process].calls[call].open();
    });
    if (all) return end;
  }
  return kNoIndex;
}

void AddCollective(const Run& run, const Matching& matching, Reached* reached) {
  auto largest = std::max_element(matching.groups.begin(), matching.groups.end(), [](const auto& a, const auto& b) {
    return std::pair(a.members.size(), a.longest) < std::pair(b.members.size(), b.longest);
  });
  if (largest == matching.groups.end() || largest->members.empty()) return;
  size_t last = LastOfAll(run, *largest);
  if (last == kNoIndex) return;
  const Member& member = largest->members[0];
  const Process& process = run.processes[member.process];
  reached->call = CallName(process, process.calls[member.At(last)]);
  reached->comm = largest->name;
  reached->seq = static_cast<int64_t>(last);
}

}  // namespace

Reached ReachedBy(const Run& run) {
  Matching matching = MatchCollectives(run);
  Steps steps(run, matching);
  Reached reached;
  AddSteps(run, steps, &reached);
  AddCheckpoint(run, steps, &reached);
  AddCollective(run, matching, &reached);
  return reached;
}

std::string ReachedText(const Reached& reached) {
  std::string text;
  if (reached.step) {
    text = fmt::format("step {}", *reached.step);
    if (*reached.step_of_all != *reached.step) text += fmt::format(" (all ranks: {})", *reached.step_of_all);
  }
  if (!reached.call.empty())
    text += fmt::format("{}{} #{} of {}", text.empty() ? "" : ", ", reached.call, reached.seq, reached.comm);
  if (reached.checkpoint_step) text += fmt::format(", a checkpoint in step {}", *reached.checkpoint_step);
  return text;
}

}  // namespace ddbg::analyzer
