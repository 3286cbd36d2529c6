// ddbg export: a run for other tools.
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

#include "analyzer/command.h"
#include "analyzer/export/perfetto.h"
#include "analyzer/load/load.h"
#include "analyzer/render/events.h"
#include "analyzer/report/event_filter.h"
#include "analyzer/verdict/diagnose.h"

namespace ddbg::analyzer {
namespace {

struct ExportOptions {
  std::vector<std::string> names;
  std::string format, file;
  SelectionText selection;
  EventFilter filter;
  bool no_stacks = false;
};

// By the end of a file's name; "" if it says nothing.
std::string FormatOfName(std::string_view file) {
  struct Ending {
    std::string_view ending, format;
  };
  constexpr Ending kEndings[] = {{".csv", "csv"},     {".jsonl", "jsonl"},           {".ndjson", "jsonl"},
                                 {".json", "jsonl"},  {".pftrace", "perfetto"},      {".perfetto", "perfetto"},
                                 {".pb", "perfetto"}, {"perfetto-trace", "perfetto"}};
  for (const Ending& known : kEndings)
    if (file.ends_with(known.ending)) return std::string(known.format);
  return "";
}

void WriteRun(const Run& run, const ExportOptions& options, Output& out) {
  Symbolizer symbolizer;
  StackViews views(&symbolizer);
  StackViews* stacks = options.no_stacks ? nullptr : &views;
  if (options.format == "perfetto") {
    Diagnosis diagnosis = DiagnoseRun(run);
    Matching matching = MatchCollectives(run);
    Messages messages = MatchMessages(run);
    Timeline timeline(run, matching, messages);
    Steps steps(run, matching);
    return ExportPerfetto({run, timeline, matching, messages, steps, diagnosis}, options.filter, stacks, out);
  }
  Timeline timeline(run);
  Steps steps(run, MatchCollectives(run));
  (options.format == "csv" ? PrintEventsCsv : PrintEventsJson)(run, timeline, options.filter, stacks, out, &steps);
}

int RunExport(ExportOptions* options) {
  if (options->format.empty()) options->format = FormatOfName(options->file);
  if (options->format.empty()) {
    return Fail("say --format perfetto, csv or jsonl: the file's name does not end in .pftrace, .csv or .jsonl",
                kExitUsage);
  }
  if (options->format == "perfetto" && options->file.empty() && isatty(STDOUT_FILENO))
    return Fail("a Perfetto trace is not for a terminal; give a file with -o, or redirect", kExitUsage);
  Result<Selection> selection = options->selection.Parse();
  if (!selection) return Fail(selection.error().text, kExitUsage);
  static_cast<Selection&>(options->filter) = *std::move(selection);
  Result<Run> run = OpenRun(options->names);
  if (!run) return Fail(run.error().text, kExitUnknown);
  FILE* file = options->file.empty() ? stdout : fopen(options->file.c_str(), "w");
  if (!file) return Fail("cannot write " + options->file + ": " + strerror(errno), kExitUnknown);
  bool whole;
  {
    Output out(file);
    WriteRun(*run, *options, out);
    whole = out.Flush();
  }
  int error = errno;
  if (!options->file.empty()) {
    if (fclose(file) != 0 && whole) whole = false, error = errno;
    if (!whole) return Fail(options->file + " is not whole: " + strerror(error), kExitUnknown);
  }
  for (const std::string& unreadable : run->unreadable) Fail(unreadable, kExitUnknown);
  return kExitOk;
}

}  // namespace

Action DeclareExport(const Declaration& declaration) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App& app = declaration.app;
  AddRunArgument(app, &options->names);
  app.add_option("--format", options->format, "perfetto (ui.perfetto.dev), csv or jsonl; if not said, by FILE's name")
      ->check(CLI::IsMember({"perfetto", "csv", "jsonl"}));
  app.add_option("-o,--output", options->file, "Where to write; if not said, standard output")->type_name("FILE");
  AddSelection(app, &options->selection);
  app.add_flag("--no-stacks", options->no_stacks, "Leave the stacks out");
  return [options] { return RunExport(options.get()); };
}

}  // namespace ddbg::analyzer
