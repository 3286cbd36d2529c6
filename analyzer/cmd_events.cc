// ddbg events: the recorded calls.
#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/load/load.h"
#include "analyzer/model/duration.h"
#include "analyzer/render/events.h"
#include "analyzer/report/event_filter.h"

namespace ddbg::analyzer {
namespace {

struct EventsOptions {
  std::vector<std::string> names;
  SelectionText selection;
  EventFilter filter;
  bool no_stacks = false;
  bool json = false;
};

int RunEvents(EventsOptions* options) {
  Result<Selection> selection = options->selection.Parse();
  if (!selection) return Fail(selection.error().text, kExitUsage);
  static_cast<Selection&>(options->filter) = *std::move(selection);
  if (Result<void> fits = CheckFilter(options->filter); !fits) return Fail(fits.error().text, kExitUsage);
  Result<Run> run = OpenRun(options->names);
  if (!run) return Fail(run.error().text, kExitUnknown);
  Timeline timeline(*run);
  Steps steps(*run, MatchCollectives(*run));
  Symbolizer symbolizer;
  StackViews views(&symbolizer);
  StackViews* stacks = options->no_stacks ? nullptr : &views;
  {
    Output out(stdout);
    (options->json ? PrintEventsJson : PrintEventsText)(*run, timeline, options->filter, stacks, out, &steps);
  }
  for (const std::string& unreadable : run->unreadable) Fail(unreadable, kExitUnknown);
  return kExitOk;
}

}  // namespace

Action DeclareEvents(const Declaration& declaration) {
  auto options = std::make_shared<EventsOptions>();
  EventFilter& filter = options->filter;
  CLI::App& app = declaration.app;
  AddRunArgument(app, &options->names);
  AddSelection(app, &options->selection);
  app.add_option("--kind", filter.kind,
                 "Only this kind: collective, send, recv, wait, comm_create, launch, stream_sync, …");
  app.add_option("--call", filter.call, "Only this function: MPI_Allreduce, ncclAllReduce or allreduce");
  app.add_option("--stream", filter.stream, "Only calls on this CUDA stream: its number in the output")->type_name("N");
  app.add_option("--device", filter.device, "Only calls on this device of a rank")->type_name("N");
  app.add_option("--limit", filter.limit, "At most N events")->type_name("N");
  app.add_flag("--no-stacks", options->no_stacks, "Leave the stacks out");
  app.add_flag("--json", options->json, "For programs: one object a line");
  return [options] { return RunEvents(options.get()); };
}

}  // namespace ddbg::analyzer
