// ddbg playbook: what to do about one kind of anomaly, or the list of all.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/model/kinds.h"
#include "analyzer/render/playbook.h"
#include "analyzer/verdict/playbooks.h"

namespace ddbg::analyzer {
namespace {

struct PlaybookOptions {
  std::string kind;
  std::string file;
  bool list = false;
  bool json = false;
};

int RunPlaybook(const PlaybookOptions& options) {
  LoadedPlaybooks loaded = LoadPlaybooks(options.file);
  for (const std::string& trouble : loaded.troubles) Fail(trouble, kExitOk);
  std::vector<std::string> kinds = loaded.playbooks.Kinds();
  if (!options.list && options.kind.empty())
    return Fail("playbook needs a KIND of verdict, or --list (see ddbg playbook --help)", kExitUsage);
  if (!options.list && std::find(kinds.begin(), kinds.end(), options.kind) == kinds.end())
    return Fail(fmt::format("there is no playbook \"{}\"; ddbg playbook --list names them", options.kind), kExitUsage);
  Output out(stdout);
  if (options.json)
    PrintPlaybooksJson(loaded.playbooks, options.list ? kinds : std::vector<std::string>{options.kind}, out);
  else if (options.list)
    PrintPlaybookListText(loaded.playbooks, out);
  else
    PrintPlaybookOfKindText(options.kind, loaded.playbooks.Of(options.kind, ClassOfKind(options.kind)), out);
  return kExitOk;
}

}  // namespace

Action DeclarePlaybook(const Declaration& declaration) {
  auto options = std::make_shared<PlaybookOptions>();
  CLI::App& app = declaration.app;
  app.add_option("KIND", options->kind, "Kind of a verdict, such as early_exit");
  app.add_flag("--list", options->list, "All kinds, with class, reproduction tier and owner");
  app.add_option("--playbooks", options->file, "Use this file over the built-in playbooks");
  app.add_flag("--json", options->json, "For programs: schema ddbg.playbooks/1, as the file has it");
  app.footer(
      "Rows come from the build's own playbooks, over them $DDBG_PLAYBOOKS, else ~/.config/ddbg/playbooks.json: a "
      "file\n"
      "that has only the fields to be changed. {rank} and the like are filled in by ddbg diagnose.");
  return [options] { return RunPlaybook(*options); };
}

}  // namespace ddbg::analyzer
