// ddbg events: the recorded calls.
#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/event_filter.h"
#include "analyzer/load.h"
#include "analyzer/render/events.h"

namespace ddbg::analyzer {
namespace {

struct EventsOptions {
  std::vector<std::string> names;
  std::string ranks;
  EventFilter filter;
  bool no_stacks = false;
  bool json = false;
};

int RunEvents(EventsOptions* options) {
  if (!options->ranks.empty()) {
    Result<std::set<int32_t>> ranks = ParseRanks(options->ranks);
    if (!ranks) return Fail(ranks.error().text, kExitUsage);
    options->filter.ranks = *std::move(ranks);
  }
  if (Result<void> fits = CheckFilter(options->filter); !fits) return Fail(fits.error().text, kExitUsage);
  Result<Run> run = OpenRun(options->names);
  if (!run) return Fail(run.error().text, kExitUnknown);
  Timeline timeline(*run);
  Symbolizer symbolizer;
  StackViews views(&symbolizer);
  StackViews* stacks = options->no_stacks ? nullptr : &views;
  {
    Output out(stdout);
    (options->json ? PrintEventsJson : PrintEventsText)(*run, timeline, options->filter, stacks, out);
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
  app.add_option("--rank", options->ranks, "Only these ranks: 0,3,8-11");
  app.add_option("--comm", filter.comm, "Only on this communicator: its name, its uid in hex, world or self");
  app.add_option("--kind", filter.kind,
                 "Only this kind: collective, send, recv, wait, comm_create, launch, stream_sync, …");
  app.add_option("--call", filter.call, "Only this function: MPI_Allreduce, ncclAllReduce or allreduce");
  app.add_option("--stream", filter.stream, "Only calls on this CUDA stream: its number in the output")->type_name("N");
  app.add_option("--device", filter.device, "Only calls on this device of a rank")->type_name("N");
  app.add_option("--from", filter.from_s, "Not before T seconds after the run's first event")->type_name("T");
  app.add_option("--to", filter.to_s, "Not after T seconds after the run's first event")->type_name("T");
  app.add_option("--last", filter.last_s, "Only the last SECONDS of the run")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--limit", filter.limit, "At most N events")->type_name("N");
  app.add_flag("--no-stacks", options->no_stacks, "Leave the stacks out");
  app.add_flag("--json", options->json, "For programs: one object a line");
  return [options] { return RunEvents(options.get()); };
}

}  // namespace ddbg::analyzer
