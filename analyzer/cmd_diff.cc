// ddbg diff: a good against a bad run.
#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/load/load.h"
#include "analyzer/render/diff.h"

namespace ddbg::analyzer {
namespace {

struct DiffOptions {
  std::string good, bad;
  bool by_function = false, all = false, json = false;
};

int RunDiffCommand(const DiffOptions& options) {
  Result<Run> good = OpenRun({options.good});
  if (!good) return Fail(good.error().text, kExitUnknown);
  Result<Run> bad = OpenRun({options.bad});
  if (!bad) return Fail(bad.error().text, kExitUnknown);
  Symbolizer symbolizer;
  StackViews views(&symbolizer);
  RunDiff diff = CompareCalls({*good, *bad, options.by_function}, &views);
  FactComparison facts = CompareRuns(*good, *bad, options.all);
  DiffInput input{*good, *bad, diff, facts, &views};
  Output out(stdout);
  options.json ? PrintDiffJson(input, out) : PrintDiffText(input, out);
  if (diff.ranks == 0) return kExitUnknown;
  return input.different() ? kExitFault : kExitOk;
}

}  // namespace

Action DeclareDiff(const Declaration& declaration) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App& app = declaration.app;
  app.add_option("GOOD", options->good, "The run that went well: trace file, directory, run id or `latest`")
      ->required();
  app.add_option("BAD", options->bad, "The run to compare with it")->required();
  app.add_flag("--by-function", options->by_function,
               "Compare call sites by function, not line; as is done for programs of different builds");
  app.add_flag("--all", options->all, "With differences of environment that are by design");
  app.add_flag("--json", options->json, "For programs: schema ddbg.diff/1");
  app.footer("Exit codes: 0 no difference of structure or environment, 1 some, 2 wrong usage, 3 unreadable.");
  return [options] { return RunDiffCommand(*options); };
}

}  // namespace ddbg::analyzer
