#include <fmt/format.h>

#include "analyzer/model/kinds.h"
#include "analyzer/render/diagnosis.h"
#include "analyzer/render/playbook.h"
#include "analyzer/stacks/stack_view.h"
#include "analyzer/verdict/playbook_values.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostLines = 16;

class DiagnosisText {
 public:
  DiagnosisText(const Run& run, const Diagnosis& diagnosis, const Playbooks& playbooks, Output& out)
      : run_(run), diagnosis_(diagnosis), playbooks_(playbooks), out_(out), terminal_(out.terminal()) {}

  void Print(const std::vector<EarlierAttempt>& earlier) {
    PrintLosses();
    PrintRun(earlier);
    switch (diagnosis_.verdict) {
      case Diagnosis::kHealthy: out_.Write(terminal_.Labelled(Tone::kGood, "HEALTHY", diagnosis_.summary)); break;
      case Diagnosis::kUnknown: PrintUnknown(); break;
      case Diagnosis::kFault: PrintFault(); break;
    }
    PrintList("Caveats", diagnosis_.caveats);
  }

 private:
  void PrintLosses() {
    uint64_t lost = 0;
    for (const Process& process : run_.processes) lost += process.lost_total();
    if (lost > 0)
      out_.Write(terminal_.Paint(Tone::kDoubt, fmt::format("LOST: {} records; see ddbg info", lost)) + "\n");
  }

  void PrintRun(const std::vector<EarlierAttempt>& earlier) {
    std::string line = fmt::format("Run {}, attempt {}", run_.run_id, run_.attempt_id);
    for (const EarlierAttempt& attempt : earlier)
      line += fmt::format("{} attempt {}: {}", &attempt == &earlier.front() ? "; before it" : ",", attempt.number,
                          OutcomeText(attempt));
    std::string reached = earlier.empty() ? "" : ReachedText(ReachedBy(run_));
    if (!reached.empty()) line += "; now at " + reached;
    out_.Write(terminal_.Paragraph(line));
  }

  void PrintUnknown() {
    out_.Write(terminal_.Labelled(Tone::kDoubt, "UNKNOWN", diagnosis_.summary));
    if (diagnosis_.findings.empty()) return;
    PrintList("Evidence", diagnosis_.findings[0].evidence);
    PrintPlaybook(diagnosis_.findings[0]);
  }

  void PrintFault() {
    const Finding& first = diagnosis_.findings[0];
    out_.Write(terminal_.Paint(Tone::kBad, "FAULT: " + first.kind) +
               fmt::format(" ({}, {}), confidence {:.0f} %\n", ClassOf(first),
                           first.wont_start ? "won't start" : "running", first.confidence * 100));
    out_.Write(terminal_.Paragraph(first.summary, 2));
    PrintEvent(first.first);
    PrintList("Evidence", first.evidence);
    PrintPlaybook(first);
    std::vector<std::string> others;
    for (size_t i = 1; i < diagnosis_.findings.size(); ++i)
      others.push_back(diagnosis_.findings[i].kind + ": " + diagnosis_.findings[i].summary);
    PrintList("Also found", others);
  }

  void PrintPlaybook(const Finding& finding) {
    PrintPlaybookText(Filled(playbooks_.Of(finding.kind, ClassOf(finding)), ValuesOf(run_, finding)), out_);
  }

  void PrintEvent(const BadEvent& event) {
    std::string who = fmt::format("rank {}", event.rank);
    if (event.process != kNoIndex)
      who += fmt::format(" (pid {} on {})", run_.processes[event.process].pid, run_.processes[event.process].host);
    std::string where = event.call_name.empty() ? "" : ": " + event.call_name;
    if (!event.comm.empty()) where += " on " + event.comm;
    if (event.seq >= 0) where += fmt::format(", sequence number {}", event.seq);
    if (event.step >= 0) where += fmt::format(", step {} ({})", event.step, event.step_source);
    PrintTitle("First bad event");
    out_.Write(terminal_.Paragraph(who + where, 2));
    if (!event.field.empty())
      out_.Write(
          terminal_.Paragraph(fmt::format("{}: {}; expected: {}", event.field, event.actual, event.expected), 2));
    for (size_t i = 0; i < event.stack.size() && i < kMostLines; ++i) {
      bool source = static_cast<int>(i) == event.source;
      out_.Write(terminal_.Paint(source ? Tone::kTitle : Tone::kQuiet,
                                 fmt::format("  {} {}", source ? "→" : " ", DescribeFrame(&event.stack[i]))) +
                 "\n");
    }
  }

  void PrintTitle(const char* title) { out_.Write(terminal_.Paint(Tone::kTitle, title) + "\n"); }

  void PrintList(const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    PrintTitle(title);
    for (size_t i = 0; i < lines.size() && i < kMostLines; ++i) out_.Write(terminal_.Paragraph(lines[i], 2));
    if (lines.size() > kMostLines) out_.Write(fmt::format("  … and {} more\n", lines.size() - kMostLines));
  }

  const Run& run_;
  const Diagnosis& diagnosis_;
  const Playbooks& playbooks_;
  Output& out_;
  const Terminal& terminal_;
};

}  // namespace

void PrintDiagnosisText(const Run& run, const Diagnosis& diagnosis, const Playbooks& playbooks,
                        const std::vector<EarlierAttempt>& earlier, Output& out) {
  DiagnosisText(run, diagnosis, playbooks, out).Print(earlier);
}

}  // namespace ddbg::analyzer
