// ddbg info: what was recorded.
#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/load/load.h"
#include "analyzer/render/info.h"

namespace ddbg::analyzer {
namespace {

struct InfoOptions {
  std::vector<std::string> names;
  bool json = false;
  bool telemetry = false;
};

int RunInfo(const InfoOptions& options) {
  Result<Run> run = OpenRun(options.names);
  if (!run) return Fail(run.error().text, kExitUnknown);
  Output out(stdout);
  options.json ? PrintInfoJson(*run, options.telemetry, out) : PrintInfoText(*run, out);
  return kExitOk;
}

}  // namespace

Action DeclareInfo(const Declaration& declaration) {
  auto options = std::make_shared<InfoOptions>();
  AddRunArgument(declaration.app, &options->names);
  declaration.app.add_flag("--json", options->json, "For programs: schema ddbg.info/1");
  declaration.app.add_flag("--telemetry", options->telemetry, "With --json: every sample of nodes and processes");
  return [options] { return RunInfo(*options); };
}

}  // namespace ddbg::analyzer
