#include <fmt/format.h>

#include "analyzer/kinds.h"
#include "analyzer/render/diagnosis.h"
#include "analyzer/stack_view.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostLines = 16;

void PrintLosses(const Run& run, Output& out) {
  uint64_t lost = 0;
  for (const Process& process : run.processes) lost += process.lost_total();
  if (lost > 0) out.Write(fmt::format("LOST: {} records; see ddbg info\n", lost));
}

void PrintEvent(const Run& run, const BadEvent& event, Output& out) {
  std::string who = fmt::format("rank {}", event.rank);
  if (event.process != kNoIndex)
    who += fmt::format(" (pid {} on {})", run.processes[event.process].pid, run.processes[event.process].host);
  out.Write("First bad event\n");
  out.Write(fmt::format("  {}: {}{}{}\n", who, event.call_name, event.comm.empty() ? "" : " on " + event.comm,
                        event.seq < 0 ? "" : fmt::format(", sequence number {}", event.seq)));
  if (!event.field.empty())
    out.Write(fmt::format("  {}: {}; expected: {}\n", event.field, event.actual, event.expected));
  for (size_t i = 0; i < event.stack.size() && i < kMostLines; ++i)
    out.Write(
        fmt::format("  {} {}\n", static_cast<int>(i) == event.source ? "→" : " ", DescribeFrame(&event.stack[i])));
}

void PrintList(const char* title, const std::vector<std::string>& lines, Output& out) {
  if (lines.empty()) return;
  out.Write(fmt::format("{}\n", title));
  for (size_t i = 0; i < lines.size() && i < kMostLines; ++i) out.Write("  " + lines[i] + "\n");
  if (lines.size() > kMostLines) out.Write(fmt::format("  … and {} more\n", lines.size() - kMostLines));
}

void PrintFault(const Run& run, const Diagnosis& diagnosis, Output& out) {
  const Finding& first = diagnosis.findings[0];
  const KindInfo& info = InfoOf(first.kind);
  out.Write(fmt::format("FAULT: {} ({}, {}), confidence {:.0f} %\n", first.kind, ClassOf(first),
                        first.wont_start ? "won't start" : "running", first.confidence * 100));
  out.Write("  " + first.summary + "\n");
  PrintEvent(run, first.first, out);
  PrintList("Evidence", first.evidence, out);
  std::vector<std::string> steps, others;
  for (std::string_view step : info.next_steps)
    if (!step.empty()) steps.emplace_back(step);
  PrintList("Next", steps, out);
  for (size_t i = 1; i < diagnosis.findings.size(); ++i)
    others.push_back(diagnosis.findings[i].kind + ": " + diagnosis.findings[i].summary);
  PrintList("Also found", others, out);
}

}  // namespace

void PrintDiagnosisText(const Run& run, const Diagnosis& diagnosis, Output& out) {
  PrintLosses(run, out);
  out.Write(fmt::format("Run {}, attempt {}\n", run.run_id, run.attempt_id));
  switch (diagnosis.verdict) {
    case Diagnosis::kHealthy: out.Write("HEALTHY: " + diagnosis.summary + "\n"); break;
    case Diagnosis::kUnknown: out.Write("UNKNOWN: " + diagnosis.summary + "\n"); break;
    case Diagnosis::kFault: PrintFault(run, diagnosis, out); break;
  }
  PrintList("Caveats", diagnosis.caveats, out);
}

}  // namespace ddbg::analyzer
