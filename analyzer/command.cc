#include "analyzer/command.h"

#include <cstdio>

namespace ddbg::analyzer {

int Fail(const std::string& sentence, ExitCode code) {
  fprintf(stderr, "ddbg: %s\n", sentence.c_str());
  return code;
}

void AddRunArgument(CLI::App& app, std::vector<std::string>* names) {
  app.add_option("RUN", *names, "Trace file, directory, run id or `latest`; several are parts of one run")->required();
}

}  // namespace ddbg::analyzer
