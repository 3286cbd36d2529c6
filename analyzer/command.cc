#include "analyzer/command.h"

#include <cstdio>

#include "analyzer/report/selection.h"

namespace ddbg::analyzer {

int Fail(const std::string& sentence, ExitCode code) {
  fprintf(stderr, "ddbg: %s\n", sentence.c_str());
  return code;
}

void AddRunArgument(CLI::App& app, std::vector<std::string>* names) {
  app.add_option("RUN", *names, "Trace file, directory, run id or `latest`; several are parts of one run")->required();
}

void AddSelection(CLI::App& app, SelectionText* text) {
  app.add_option("--rank", text->ranks, "Only these ranks: 0,3,8-11");
  app.add_option("--comm", text->comm, "Only on this communicator: its name, its uid in hex, world or self");
  app.add_option("--step", text->steps, "Only of these steps: 12 or 3-7");
  app.add_option("--from", text->from_s, "Not before T seconds after the run's first event")->type_name("T");
  app.add_option("--to", text->to_s, "Not after T seconds after the run's first event")->type_name("T");
  app.add_option("--last", text->last, "Only the last TIME of the run: 90, 90s, 5m, 1h")->type_name("TIME");
}

}  // namespace ddbg::analyzer
