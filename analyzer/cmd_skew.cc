// ddbg skew: how far apart the ranks enter their collectives.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/load/load.h"
#include "analyzer/render/skew.h"
#include "analyzer/report/event_filter.h"
#include "analyzer/report/skew.h"

namespace ddbg::analyzer {
namespace {

struct SkewOptions {
  std::vector<std::string> names;
  SelectionText selection;
  std::string slo;
  bool json = false;
};

int RunSkew(SkewOptions* options) {
  std::optional<int64_t> slo_ns;
  if (!options->slo.empty()) {
    Result<int64_t> slo = ParseDuration(options->slo);
    if (!slo) return Fail("--slo: " + slo.error().text, kExitUsage);
    slo_ns = *slo;
  }
  Result<Selection> selection = options->selection.Parse();
  if (!selection) return Fail(selection.error().text, kExitUsage);
  if (selection->ranks.size() == 1)
    return Fail("one rank cannot be compared with others: name two or more", kExitUsage);
  Result<Run> run = OpenRun(options->names);
  if (!run) return Fail(run.error().text, kExitUnknown);
  Context context(*run);
  SkewReport report = MeasureSkew(context, *selection);
  Output out(stdout);
  (options->json ? PrintSkewJson : PrintSkewText)(*run, report, slo_ns, out);
  if (report.all.count == 0) return kExitUnknown;
  return slo_ns && report.all.p99_ns > *slo_ns ? kExitFault : kExitOk;
}

}  // namespace

Action DeclareSkew(const Declaration& declaration) {
  auto options = std::make_shared<SkewOptions>();
  CLI::App& app = declaration.app;
  AddRunArgument(app, &options->names);
  app.add_option("--slo", options->slo,
                 "Compare the 99th percentile of the entry skew with it: exit code 1 if it is more")
      ->type_name("50ms");
  AddSelection(app, &options->selection);
  app.add_flag("--json", options->json, "For programs: schema ddbg.skew/1");
  return [options] { return RunSkew(options.get()); };
}

}  // namespace ddbg::analyzer
