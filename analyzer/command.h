// The commands of `ddbg`: a row each in main.cc. A command declares its options on a CLI::App and returns what is to be
// run once they are parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/model/exit_code.h"
#include "proto/result.h"

namespace ddbg::analyzer {

struct SelectionText;

// Returns the exit code of the process.
using Action = std::function<int()>;

// A command may take what follows `--`; `after_dashes` is filled by main and outlives the action.
struct Declaration {
  CLI::App& app;
  const std::vector<std::string>& after_dashes;
};

struct Command {
  const char* name;
  const char* summary;
  Action (*declare)(const Declaration&);
  bool takes_command = false;  // allows `--` and words that are no options
};

// The options by which a command is about a part of a run (selection.h).
void AddSelection(CLI::App& app, SelectionText* text);

Action DeclareRun(const Declaration& declaration);
Action DeclareDiagnose(const Declaration& declaration);
Action DeclareDiff(const Declaration& declaration);
Action DeclareInfo(const Declaration& declaration);
Action DeclareEnv(const Declaration& declaration);
Action DeclareEvents(const Declaration& declaration);
Action DeclareSteps(const Declaration& declaration);
Action DeclareSkew(const Declaration& declaration);
Action DeclarePlaybook(const Declaration& declaration);
Action DeclareExport(const Declaration& declaration);
Action DeclareStacks(const Declaration& declaration);

// Prints "ddbg: " and the sentence on stderr, and returns `code`: the one way commands fail.
int Fail(const std::string& sentence, ExitCode code);

// Adds RUN to a command: one or more paths or run ids, at least one.
void AddRunArgument(CLI::App& app, std::vector<std::string>* names);

}  // namespace ddbg::analyzer
