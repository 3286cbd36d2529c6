// ddbg steps: what the time of each step went into, by rank.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/load/load.h"
#include "analyzer/render/steps.h"
#include "analyzer/report/event_filter.h"
#include "analyzer/report/step_times.h"
#include "analyzer/steps/phases.h"

namespace ddbg::analyzer {
namespace {

struct StepsOptions {
  std::vector<std::string> names;
  SelectionText selection;
  bool json = false;
};

int RunSteps(const StepsOptions& options) {
  Result<Selection> selection = options.selection.Parse();
  if (!selection) return Fail(selection.error().text, kExitUsage);
  if (!selection->comm.empty()) return Fail("steps are those of whole ranks: --comm says nothing here", kExitUsage);
  Result<Run> run = OpenRun(options.names);
  if (!run) return Fail(run.error().text, kExitUnknown);
  Matching matching = MatchCollectives(*run);
  Steps steps(*run, matching);
  Timeline timeline(*run);
  std::vector<StepTimes> times = TimesOfSteps(*run, matching, steps, timeline, PhasesOf(*run));
  auto [from, to] = selection->Window(timeline);
  std::erase_if(times, [&](const StepTimes& one) {
    bool in_time = one.start_ns <= to && one.start_ns + one.duration_ns >= from;
    return !in_time || !selection->HasRank(run->processes[one.process].rank()) || !selection->HasStep(one.number);
  });
  Output out(stdout);
  if (options.json)
    PrintStepsJson(*run, steps, times, out);
  else
    PrintStepsText(*run, steps, times, selection->steps.has_value(), out);
  return kExitOk;
}

}  // namespace

Action DeclareSteps(const Declaration& declaration) {
  auto options = std::make_shared<StepsOptions>();
  AddRunArgument(declaration.app, &options->names);
  AddSelection(declaration.app, &options->selection);
  declaration.app.add_flag("--json", options->json, "For programs: schema ddbg.steps/1");
  return [options] { return RunSteps(*options); };
}

}  // namespace ddbg::analyzer
