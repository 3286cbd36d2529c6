#include <fmt/format.h>

#include "analyzer/model/format.h"
#include "analyzer/model/kinds.h"
#include "analyzer/render/playbook.h"

namespace ddbg::analyzer {
namespace {

// Commands are not wrapped: they are to be copied.
void PrintCommands(const char* title, const std::vector<std::string>& commands, Output& out) {
  if (commands.empty()) return;
  const Terminal& terminal = out.terminal();
  out.Write(terminal.Paint(Tone::kTitle, title) + "\n");
  for (const std::string& command : commands) out.Write("  " + terminal.Paint(Tone::kCommand, command) + "\n");
}

void PrintSentence(const char* title, const std::string& sentence, Output& out) {
  if (sentence.empty()) return;
  out.Write(out.terminal().Paint(Tone::kTitle, title) + "\n");
  out.Write(out.terminal().Paragraph(sentence, 2));
}

}  // namespace

void PrintPlaybookText(const Playbook& playbook, Output& out) {
  const Terminal& terminal = out.terminal();
  if (!playbook.next_steps.empty()) out.Write(terminal.Paint(Tone::kTitle, "Next") + "\n");
  for (const std::string& step : playbook.next_steps) out.Write(terminal.Paragraph(step, 2));
  PrintCommands("Ask", playbook.queries, out);
  PrintCommands("Capture now", playbook.captures, out);
  if (playbook.tier > 0)
    PrintSentence("Reproduce",
                  fmt::format("tier {}, {}: {}", playbook.tier, TierName(playbook.tier), playbook.reduction), out);
  PrintSentence("Likely", fmt::format("{}", fmt::join(playbook.likely_classes, ", then ")), out);
  PrintSentence("Owner", playbook.owner, out);
}

void PrintPlaybookOfKindText(std::string_view kind, const Playbook& playbook, Output& out) {
  out.Write(out.terminal().Paint(Tone::kTitle, kind) + fmt::format(" ({})\n", ClassOfKind(kind)));
  PrintPlaybookText(playbook, out);
}

void PrintPlaybookListText(const Playbooks& playbooks, Output& out) {
  Table table({"kind", "class", "tier", "owner"});
  for (const std::string& kind : playbooks.Kinds()) {
    Playbook playbook = playbooks.Of(kind, ClassOfKind(kind));
    table.Add({kind, std::string(ClassOfKind(kind)), playbook.tier > 0 ? std::to_string(playbook.tier) : "-",
               playbook.owner});
  }
  out.Write(table.Text());
}

}  // namespace ddbg::analyzer
