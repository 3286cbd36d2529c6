#include "analyzer/steps/step_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "analyzer/model/call_fields.h"
#include "analyzer/steps/phases.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kFewestPhases = 3;

// Where a process's step begins.
struct Mark {
  int64_t number;
  size_t call;
};

struct Marks {
  std::vector<Mark> begins;
  size_t end = 0;  // past the last step
};

// Past the last call before the process leaves.
size_t EndOfWork(const Process& process) {
  for (size_t i = process.calls.size(); i-- > 0;) {
    const Call& call = process.calls[i];
    if (call.known() && call.info().kind == CallKind::Finalize) return i;
  }
  return process.calls.size();
}

Marks StepMarks(const Process& process) {
  Marks marks;
  marks.end = EndOfWork(process);
  for (size_t i = 0; i < marks.end; ++i) {
    const Call& call = process.calls[i];
    if (!call.known()) continue;
    int64_t number = static_cast<int64_t>(call.count);
    // A step that began with the request for a batch, of which there was none.
    if (call.info().kind == CallKind::Event && !marks.begins.empty() && marks.begins.back().number == number &&
        MarkName(process, call) == "end_of_data")
      marks.begins.pop_back();
    if (call.info().kind != CallKind::Step) continue;
    // The same step, told by another thread or once more.
    if (!marks.begins.empty() && marks.begins.back().number == number) continue;
    marks.begins.push_back({number, i});
  }
  return marks;
}

// A loop that went back to an earlier step (after a restart from a checkpoint within the process) has its numbers
// twice: of those the later ones count, since what failed failed there.
void DropRepeated(Marks* marks) {
  std::vector<Mark> ascending;
  for (const Mark& mark : marks->begins) {
    while (!ascending.empty() && ascending.back().number >= mark.number) ascending.pop_back();
    ascending.push_back(mark);
  }
  marks->begins = std::move(ascending);
}

MarkedSteps Joined(const std::vector<Marks>& marks, std::string how) {
  MarkedSteps steps;
  std::map<int64_t, size_t> turns;
  for (const Marks& of_process : marks)
    for (const Mark& mark : of_process.begins) turns[mark.number] = 0;
  if (turns.empty()) return steps;
  steps.how = std::move(how);
  for (auto& [number, turn] : turns) {
    turn = steps.numbers.size();
    steps.numbers.push_back(number);
  }
  for (const Marks& of_process : marks) {
    TurnEdges& edges = steps.edges.emplace_back();
    if (of_process.begins.empty()) continue;
    // A step that the process did not have is empty and lies where the next one begins.
    edges.assign(turns.size() + 1, of_process.end);
    size_t next = 0;
    for (size_t i = 0; i < of_process.begins.size(); ++i) {
      size_t turn = turns[of_process.begins[i].number];
      for (; next <= turn; ++next) edges[next] = of_process.begins[i].call;
    }
  }
  return steps;
}

bool IsCalledStep(std::string_view name) {
  constexpr std::string_view kNames[] = {"step", "train_step", "training_step", "iteration",
                                         "iter", "timestep",   "time_step"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// The phase by which steps are counted: one that is called so, else the optimizer, else the rarest that recurs and is
// no work between steps.
std::string CountingPhase(const std::vector<std::vector<Phase>>& phases) {
  std::map<std::string, size_t> most;  // name → times on the process that has it most often
  for (const std::vector<Phase>& of_process : phases) {
    std::map<std::string, size_t> times;
    for (const Phase& phase : of_process) ++times[phase.name];
    for (const auto& [name, count] : times) most[name] = std::max(most[name], count);
  }
  std::erase_if(most, [](const auto& entry) {
    return entry.second < kFewestPhases || entry.first.empty() || entry.first == "checkpoint" ||
           entry.first == "evaluation";
  });
  for (const auto& [name, times] : most)
    if (IsCalledStep(name)) return name;
  if (most.count("optimizer")) return "optimizer";
  auto rarest =
      std::min_element(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return rarest == most.end() ? "" : rarest->first;
}

bool IsBegin(const Call& call) {
  return call.info().kind == CallKind::PhaseBegin || (call.info().kind == CallKind::Control && call.tag == 1);
}

bool IsEnd(const Call& call) {
  return call.info().kind == CallKind::PhaseEnd || (call.info().kind == CallKind::Control && call.tag == -1);
}

// By the n-th occurrence, from 0. A step ends where the optimizer's phase does; else it begins where its phase does.
Marks PhaseMarks(const Process& process, const std::string& name) {
  Marks marks;
  marks.end = EndOfWork(process);
  bool by_end = name == "optimizer";
  bool open = false;
  for (size_t i = 0; i < marks.end; ++i) {
    const Call& call = process.calls[i];
    if (!IsMark(call) || call.info().kind == CallKind::Step) continue;
    if (by_end && marks.begins.empty()) marks.begins.push_back({0, i});
    if (IsBegin(call) && MarkName(process, call) == name) {
      if (!by_end) marks.begins.push_back({static_cast<int64_t>(marks.begins.size()), i});
      open = true;
    } else if (by_end && open && IsEnd(call) && (call.aux == 0 || MarkName(process, call) == name)) {
      marks.begins.push_back({static_cast<int64_t>(marks.begins.size()), i + 1});
      open = false;
    }
  }
  // After the last step there is none that began.
  if (by_end && !open && marks.begins.size() > 1) {
    bool more = false;
    for (size_t i = marks.begins.back().call; i < marks.end; ++i)
      more = more || (IsMark(process.calls[i]) && IsBegin(process.calls[i]));
    if (!more) marks.end = marks.begins.back().call, marks.begins.pop_back();
  }
  return marks;
}

}  // namespace

MarkedSteps FindMarkedSteps(const Run& run) {
  std::vector<Marks> marks;
  bool any = false;
  for (const Process& process : run.processes) {
    marks.push_back(StepMarks(process));
    DropRepeated(&marks.back());
    any = any || !marks.back().begins.empty();
  }
  if (any) return Joined(marks, "as the program marked them (ddbg_step)");
  std::string name = CountingPhase(PhasesOf(run));
  if (name.empty()) return {};
  marks.clear();
  for (const Process& process : run.processes) marks.push_back(PhaseMarks(process, name));
  return Joined(marks, fmt::format("counted from 0 by the phase \"{}\", which the program marked", name));
}

}  // namespace ddbg::analyzer
