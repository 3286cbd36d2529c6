// ddbg stacks: where the ranks are, as one tree.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/load/load.h"
#include "analyzer/render/stacks.h"
#include "analyzer/report/event_filter.h"

namespace ddbg::analyzer {
namespace {

struct StacksOptions {
  std::vector<std::string> names;
  SelectionText part;
  std::optional<double> at_s;
  bool in_flight = false, json = false, folded = false;
};

StackSelection SelectionOf(const StacksOptions& options, const Selection& part, const Timeline& timeline) {
  StackSelection selection;
  selection.in_flight = options.in_flight;
  selection.part = part;
  if (options.at_s) {
    selection.mode = StackSelection::kAt;
    selection.at_ns = static_cast<int64_t>(std::clamp(*options.at_s, -9e9, 9e9) * 1e9);
  } else if (part.in_time() || part.steps) {
    selection.mode = StackSelection::kWindow;
    auto [from, to] = part.Window(timeline);
    selection.from_ns = std::max<int64_t>(from, 0);
    selection.to_ns = std::min(to, timeline.end_ns());
  }
  return selection;
}

int RunStacks(const StacksOptions& options) {
  Result<Selection> part = options.part.Parse();
  if (!part) return Fail(part.error().text, kExitUsage);
  if (options.at_s && part->in_time())
    return Fail("--at is one moment: leave out --from, --to and --last, or --at", kExitUsage);
  Result<Run> run = OpenRun(options.names);
  if (!run) return Fail(run.error().text, kExitUnknown);
  Timeline timeline(*run);
  StackSelection selection = SelectionOf(options, *part, timeline);
  std::optional<Steps> steps;
  if (part->steps) selection.steps = &steps.emplace(*run, MatchCollectives(*run));
  Symbolizer symbolizer;
  StackViews views(&symbolizer);
  StackTree tree(*run, timeline, selection, &views);
  Output out(stdout);
  StacksInput input{*run, tree, selection, symbolizer.caveats()};
  (options.json ? PrintStacksJson : options.folded ? PrintStacksFolded : PrintStacksText)(input, out);
  return kExitOk;
}

}  // namespace

Action DeclareStacks(const Declaration& declaration) {
  auto options = std::make_shared<StacksOptions>();
  CLI::App& app = declaration.app;
  AddRunArgument(app, &options->names);
  app.add_option("--at", options->at_s, "At T seconds after the run's first event; if not said, at its end")
      ->type_name("T");
  app.add_flag("--in-flight", options->in_flight, "Only calls that had not returned");
  AddSelection(app, &options->part);
  CLI::Option* json = app.add_flag("--json", options->json, "For programs: schema ddbg.stacks/1");
  app.add_flag("--folded", options->folded, "Lines for flame graphs: ranks, or microseconds of a window")
      ->excludes(json);
  return [options] { return RunStacks(*options); };
}

}  // namespace ddbg::analyzer
