// ddbg diagnose: the first bad event of a run, its class, and the evidence.
#include <cstdio>
#include <memory>
#include <optional>

#include "analyzer/cmd_follow.h"
#include "analyzer/command.h"
#include "analyzer/load/load.h"
#include "analyzer/model/duration.h"
#include "analyzer/render/diagnosis.h"
#include "analyzer/render/progress.h"
#include "analyzer/verdict/attempts.h"
#include "analyzer/verdict/diagnose.h"

namespace ddbg::analyzer {
namespace {

struct DiagnoseOptions {
  std::vector<std::string> names;
  std::string last, memory, playbooks;
  std::optional<unsigned> attempt;
  double still_s = 10;
  bool follow = false;
  bool json = false;
};

// For who waits at a terminal.
Result<Run> OpenWithProgress(const std::vector<std::string>& names, LoadOptions* load) {
  ProgressLine line;
  load->progress = line.callback();
  return OpenRun(names, *load);
}

int RunDiagnose(const DiagnoseOptions& options) {
  LoadOptions load;
  if (!options.last.empty()) {
    Result<int64_t> last = ParseDuration(options.last);
    if (!last) return Fail("--last: " + last.error().text, kExitUsage);
    load.last_ns = *last;
  }
  if (!options.memory.empty()) {
    Result<uint64_t> memory = ParseBytes(options.memory);
    if (!memory) return Fail("--memory: " + memory.error().text, kExitUsage);
    load.memory_bytes = *memory;
  }
  if (options.follow) return RunFollow({options.names, load.last_ns, options.still_s, options.playbooks, options.json});
  std::vector<std::string> names = options.names;
  if (options.attempt) {
    Result<std::vector<std::string>> files = FilesOfAttempt(names, *options.attempt);
    if (!files) return Fail(files.error().text, kExitUnknown);
    names = *std::move(files);
  }
  Result<Run> run = OpenWithProgress(names, &load);
  if (!run) return Fail(run.error().text, kExitUnknown);
  if (!options.attempt)
    if (std::optional<Run> behind = AttemptLeftBehind(*run, load)) run = *std::move(behind);
  LoadedPlaybooks loaded = LoadPlaybooks(options.playbooks);
  for (const std::string& trouble : loaded.troubles) Fail(trouble, kExitOk);
  Diagnosis diagnosis = DiagnoseRun(*run);
  std::vector<EarlierAttempt> earlier = EarlierAttempts(run->dir);
  {
    Output out(stdout);
    if (options.json)
      PrintDiagnosisJson(*run, diagnosis, loaded.playbooks, earlier, out);
    else
      PrintDiagnosisText(*run, diagnosis, loaded.playbooks, earlier, out);
  }
  return CodeOf(diagnosis.verdict);
}

}  // namespace

ExitCode CodeOf(Diagnosis::Verdict verdict) {
  switch (verdict) {
    case Diagnosis::kHealthy: return kExitOk;
    case Diagnosis::kFault: return kExitFault;
    case Diagnosis::kUnknown: break;
  }
  return kExitUnknown;
}

Action DeclareDiagnose(const Declaration& declaration) {
  auto options = std::make_shared<DiagnoseOptions>();
  CLI::App& app = declaration.app;
  AddRunArgument(app, &options->names);
  app.add_option("--last", options->last, "Only the last TIME of the run: 90, 90s, 5m, 1h")->type_name("TIME");
  app.add_option("--memory", options->memory,
                 "Load no more of the run's end than fits into this, e.g. 4G (default: half of the machine's)")
      ->type_name("BYTES");
  CLI::Option* attempt =
      app.add_option("--attempt", options->attempt, "This attempt of a job that was restarted, not the last");
  app.add_flag("--follow", options->follow, "Wait with a running job until there is a fault or it has ended")
      ->excludes(attempt);
  app.add_option("--still", options->still_s, "With --follow: tell of a hang when it has stood as it is for S seconds")
      ->type_name("S")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--playbooks", options->playbooks,
                 "File of playbooks (default: $DDBG_PLAYBOOKS, else ~/.config/ddbg/playbooks.json)");
  app.add_flag("--json", options->json, "For programs: schema ddbg.diagnosis/1; with --follow an object a line");
  return [options] { return RunDiagnose(*options); };
}

}  // namespace ddbg::analyzer
