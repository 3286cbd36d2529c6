// ddbg: parses the command line and runs one of the commands.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "analyzer/command.h"
#include "analyzer/render/terminal.h"

namespace ddbg::analyzer {
namespace {

constexpr Command kCommands[] = {
    {"run", "Run a job under ddbg and say what went wrong, if anything did", DeclareRun, true},
    {"diagnose", "Name the first bad event of a run", DeclareDiagnose},
    {"info", "Show what was recorded: ranks, hosts, losses, how each process ended", DeclareInfo},
    {"events", "Print the recorded calls in order of time", DeclareEvents},
    {"steps", "Show what the time of each step went into, by rank", DeclareSteps},
    {"skew", "Show how far apart ranks enter their collectives, by call, step and rank", DeclareSkew},
    {"playbook", "Show what to do about a kind of anomaly, or list all", DeclarePlaybook},
    {"export", "Write a run for other tools: Perfetto, CSV or JSON lines", DeclareExport},
    {"stacks", "Show where the ranks are: their stacks, merged into one tree", DeclareStacks},
    {"env", "Show what differs between ranks, or between two runs, of environment and libraries", DeclareEnv},
    {"diff", "Compare a good and a bad run: first structural difference, what became slower", DeclareDiff},
};

// `ddbg help CMD` is `ddbg CMD --help`, `ddbg help` is `ddbg --help`.
std::vector<std::string> WithHelpSpelledOut(std::vector<std::string> words) {
  if (words.empty() || words[0] != "help") return words;
  words.erase(words.begin());
  words.resize(words.empty() ? 0 : 1);
  words.push_back("--help");
  return words;
}

bool TakesCommand(const std::string& name) {
  for (const Command& command : kCommands) {
    if (name == command.name) return command.takes_command;
  }
  return false;
}

// Moves what follows the first `--` out of `words`, for the commands that take another command.
std::vector<std::string> SplitAtDashes(std::vector<std::string>* words) {
  if (words->empty() || !TakesCommand(words->front())) return {};
  auto dashes = std::find(words->begin(), words->end(), "--");
  if (dashes == words->end()) return {};
  std::vector<std::string> after(dashes + 1, words->end());
  words->erase(dashes, words->end());
  return after;
}

// Before or behind the command's name.
void AddColorOption(CLI::App& app) {
  static const std::map<std::string, ColorMode> kModes = {
      {"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};
  app.add_option_function<std::string>(
         "--color", [](const std::string& mode) { Terminal::SetColorMode(kModes.at(mode)); },
         "Colours in text: auto (on a terminal, unless NO_COLOR is set), always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

int Answer(const CLI::App& app, const CLI::ParseError& answer) {
  if (answer.get_exit_code() == 0) return app.exit(answer);  // --help and --version
  return Fail(std::string(answer.what()) + " (see ddbg --help)", kExitUsage);
}

int Main(std::vector<std::string> words) {
  words = WithHelpSpelledOut(std::move(words));
  std::vector<std::string> after_dashes = SplitAtDashes(&words);
  CLI::App app{"ddbg finds the first bad event of a distributed job.", "ddbg"};
  app.set_version_flag("--version", "ddbg " DDBG_VERSION);
  app.require_subcommand(1);
  AddColorOption(app);
  Action action;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    command.takes_command ? sub->prefix_command() : sub->fallthrough();
    Action declared = command.declare({*sub, after_dashes});
    sub->callback([&action, declared] { action = declared; });
  }
  app.footer(
      "RUN is a path, a run id (its beginning will do) or `latest`. Exit codes: 0 healthy or done, 1 fault found,\n"
      "2 wrong usage, 3 unknown or unreadable; `ddbg run` ends with the exit code of its job.");
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them last first
    app.parse(std::move(words));
  } catch (const CLI::ParseError& answer) {
    return Answer(app, answer);
  }
  return action();
}

}  // namespace
}  // namespace ddbg::analyzer

int main(int argc, char** argv) {
  try {
    return ddbg::analyzer::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    return ddbg::analyzer::Fail(std::string("cannot go on: ") + error.what(), ddbg::analyzer::kExitUnknown);
  }
}
