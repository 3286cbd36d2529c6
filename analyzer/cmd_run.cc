// ddbg run: a job with the recorder preloaded, and the verdict when it has ended or hangs.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "analyzer/command.h"
#include "analyzer/launch/hang_watch.h"
#include "analyzer/launch/job.h"
#include "analyzer/launch/launch.h"
#include "analyzer/launch/program_check.h"
#include "analyzer/load/run_dirs.h"
#include "analyzer/load/run_id.h"
#include "analyzer/load/settle.h"
#include "analyzer/model/switches.h"
#include "analyzer/render/diagnosis.h"
#include "analyzer/verdict/diagnose.h"

namespace ddbg::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr int kTickMs = 2000;

struct RunOptions {
  std::string dir;
  std::string run_id;
  bool no_diagnose = false;
  double hang_timeout_s = 60;
  std::vector<std::string> command;
};

void Say(const std::string& sentence) { fprintf(stderr, "ddbg: %s\n", sentence.c_str()); }

// The nearest existing directory above a path that may not be there yet.
bool CanBeWritten(fs::path dir) {
  std::error_code error;
  while (!fs::exists(dir, error) && dir.has_relative_path()) dir = dir.parent_path();
  return access(dir.c_str(), W_OK | X_OK) == 0;
}

std::string WhyNothingWasTraced(const RunOptions& options, const Environment& environment) {
  std::string off = environment.GetOr("DDBG", "1");
  if (off == "0" || off == "off") return "DDBG=0 switched recording off";
  if (!CanBeWritten(options.dir))
    return fmt::format("{} cannot be written; --dir names another directory", options.dir);
  return "no process made an MPI call that could be seen (none was made, or the program is statically linked or was "
         "started by a service that does not pass LD_PRELOAD on)";
}

void Print(const Run& run, const Diagnosis& diagnosis) {
  Output out(stderr);
  LoadedPlaybooks loaded = LoadPlaybooks("");
  for (const std::string& trouble : loaded.troubles) Say(trouble);
  PrintDiagnosisText(run, diagnosis, loaded.playbooks, EarlierAttempts(run.dir), out);
}

void TellVerdict(const Run& run) {
  Diagnosis diagnosis = DiagnoseRun(run);
  if (!IsHealthy(diagnosis)) Print(run, diagnosis);
}

void TellEnd(const RunOptions& options, const Environment& environment, const std::string& run_dir) {
  std::optional<Run> run = LoadWhenSettled(run_dir, SettlePatience());
  if (!run) return Say("nothing was traced: " + WhyNothingWasTraced(options, environment));
  TellVerdict(*run);
}

void TellHang(HangWatch* watch) {
  std::optional<Run> run = watch->Look();
  if (!run) return;
  Diagnosis diagnosis = DiagnoseRun(*run);
  if (IsHealthy(diagnosis)) return;
  fputs("still hanging:\n", stderr);
  Print(*run, diagnosis);
}

// What can be said before the job begins. It runs in any case.
void Prepare(const RunOptions& options, Environment* environment) {
  std::string home = ProgramDirectory();
  if (std::string why = WhyNotTraceable(options.command, *environment); !why.empty()) Say(why);
  std::string collector = FindCollector(home, *environment);
  if (collector.empty()) {
    Say("ddbg-collector is not beside ddbg; nothing is kept unless one runs already (DDBG_COLLECTOR can say where it "
        "is)");
  } else if (Result<void> started = StartCollector(collector, *environment); !started) {
    Say(started.error().text);
  }
  Result<std::string> library = FindLibrary(home, *environment);
  if (!library) return Say(library.error().text + "; the job runs without being recorded");
  if (library->find_first_of(": ") != std::string::npos) {
    Say(
        fmt::format("{} has a space or colon in its path, which LD_PRELOAD cannot express; the job runs without being "
                    "recorded",
                    *library));
    return;
  }
  LetLibraryFindCollector(*library, collector, environment);
  PrepareEnvironment({*library, options.dir, options.run_id}, options.command, environment);
}

int RunRun(RunOptions* options) {
  if (options->command.empty()) {
    return Fail("run needs a command: ddbg run -- CMD… (see ddbg run --help)", kExitUsage);
  }
  // Taken before anything of ours may change it.
  Environment environment = Environment::Current();
  if (options->run_id.empty()) options->run_id = environment.GetOr("DDBG_RUN_ID", NewRunId());
  if (!IsUsableRunId(options->run_id)) {
    return Fail(fmt::format("\"{}\" cannot be a run id: it names a directory", options->run_id), kExitUsage);
  }
  if (options->dir.empty()) options->dir = RunsDirectory();
  options->dir = fs::absolute(options->dir).lexically_normal();
  std::string run_dir = options->dir + "/" + options->run_id;

  Prepare(*options, &environment);
  HangWatch watch(run_dir, options->no_diagnose ? 0 : options->hang_timeout_s);
  JobEnd end = RunJob(options->command, environment, kTickMs, [&] { TellHang(&watch); });
  if (!end.not_started.empty()) {
    Say(end.not_started);
  } else if (!options->no_diagnose) {
    TellEnd(*options, environment, run_dir);
  }
  return end.exit_code;
}

}  // namespace

Action DeclareRun(const Declaration& declaration) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& app = declaration.app;
  app.description(app.get_description() + ": ddbg run [OPTIONS] -- CMD…");
  app.add_option("--dir", options->dir, "Where runs are kept (default: $DDBG_DIR, else ./ddbg-runs)");
  app.add_option("--run-id", options->run_id, "Name of this run (default: $DDBG_RUN_ID, else a new UUID)");
  app.add_flag("--no-diagnose", options->no_diagnose, "Record only: no verdict, no watching for hangs");
  app.add_option("--hang-timeout", options->hang_timeout_s,
                 "Give the verdict on a job that hangs when no rank has finished a call for S seconds; 0: never")
      ->type_name("S")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.footer("CMD has the terminal and its exit code is passed on. A healthy job prints nothing of ours.\n\n" +
             SwitchesHelp());
  return [options, &app, &after_dashes = declaration.after_dashes]() -> int {
    options->command = app.remaining();  // CMD without `--`
    if (!options->command.empty() && options->command[0].starts_with('-'))
      return Fail(options->command[0] + " is no option of run (see ddbg run --help)", kExitUsage);
    if (!options->command.empty() && !after_dashes.empty()) options->command.push_back("--");
    options->command.insert(options->command.end(), after_dashes.begin(), after_dashes.end());
    return RunRun(options.get());
  };
}

}  // namespace ddbg::analyzer
