// ddbg env: what differs between the ranks of a run, or between two runs, of what they were started with.
#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/load/load.h"
#include "analyzer/render/env.h"

namespace ddbg::analyzer {
namespace {

struct EnvOptions {
  std::string run, other;
  bool all = false, json = false;
};

int RunEnv(const EnvOptions& options) {
  Result<Run> run = OpenRun({options.run});
  if (!run) return Fail(run.error().text, kExitUnknown);
  std::optional<Run> other;
  if (!options.other.empty()) {
    Result<Run> opened = OpenRun({options.other});
    if (!opened) return Fail(opened.error().text, kExitUnknown);
    other = *std::move(opened);
  }
  FactComparison comparison = other ? CompareRuns(*run, *other, options.all) : CompareRanks(*run, options.all);
  Output out(stdout);
  EnvInput input{*run, other ? &*other : nullptr, comparison};
  options.json ? PrintEnvJson(input, out) : PrintEnvText(input, out);
  return kExitOk;
}

}  // namespace

Action DeclareEnv(const Declaration& declaration) {
  auto options = std::make_shared<EnvOptions>();
  CLI::App& app = declaration.app;
  app.add_option("RUN", options->run, "Trace file, directory, run id or `latest`")->required();
  app.add_option("OTHER", options->other, "Compare with this run instead of the ranks with each other");
  app.add_flag("--all", options->all, "With what differs by design: ranks, pids, hosts, sockets");
  app.add_flag("--json", options->json, "For programs: schema ddbg.env/1");
  return [options] { return RunEnv(*options); };
}

}  // namespace ddbg::analyzer
