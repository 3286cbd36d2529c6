#include "analyzer/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyzer/context.h"
#include "analyzer/describe.h"
#include "analyzer/run_summary.h"

namespace ddbg::analyzer {
namespace {

using Rule = std::vector<Finding> (*)(Context&);
constexpr Rule kRules[] = {FindStartUp, FindProcessEnds, FindMismatches, FindWaits, FindUnmatched, FindCommLeaks};

bool IsMpi(const Process& process) { return !process.calls.empty(); }

// What cannot be undone by waiting longer. Among these the earliest is the first bad event, whatever proves it: a rank
// that dies of a mismatch comes after it, and so does the watchdog or the user that kills a hung rank.
bool IsFact(Proof proof) {
  return proof == Proof::kOwnEnd || proof == Proof::kMismatch || proof == Proof::kMissing || proof == Proof::kCycle;
}

int Weight(const Finding& finding) {
  if (finding.proof == Proof::kStartUp) return 0;
  if (IsFact(finding.proof)) return 1;
  return 1 + static_cast<int>(finding.proof);
}

bool ComesBefore(const Finding& a, const Finding& b) {
  if (Weight(a) != Weight(b)) return Weight(a) < Weight(b);
  if (a.first.t_ns != b.first.t_ns) return a.first.t_ns < b.first.t_ns;
  return a.proof < b.proof;
}

// A fact hides the symptoms it causes. A leak is neither cause nor symptom of what went wrong between the ranks.
bool Explains(const Finding& cause, const Finding& symptom) {
  if (cause.proof == Proof::kStartUp || symptom.proof == Proof::kUnknown) return true;
  return IsFact(cause.proof) && symptom.proof != Proof::kState;
}

// A job that failed while making a communicator, with hundreds alive: the leak is why.
void PreferLeak(Context& context, std::vector<Finding>* findings) {
  auto leak = std::find_if(findings->begin(), findings->end(), [](const Finding& f) { return f.kind == "comm_leak"; });
  auto end =
      std::find_if(findings->begin(), findings->end(), [](const Finding& f) { return f.proof == Proof::kOwnEnd; });
  if (leak == findings->end() || end == findings->end() || end->first.call == kNoIndex) return;
  const Call& call = context.call(end->first.process, end->first.call);
  if (!call.known() || call.info().kind != CallKind::CommCreate) return;
  leak->evidence.push_back("what came of it: " + end->summary);
  leak->confidence = 0.95;
  Finding cause = *leak;
  *findings = {std::move(cause)};
}

std::vector<Finding> Ordered(std::vector<Finding> findings) {
  std::stable_sort(findings.begin(), findings.end(), ComesBefore);
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    bool explained =
        std::any_of(kept.begin(), kept.end(), [&](const Finding& cause) { return Explains(cause, finding); });
    if (!explained) kept.push_back(std::move(finding));
  }
  return kept;
}

void AddStacks(Context& context, Diagnosis* diagnosis) {
  for (Finding& finding : diagnosis->findings) {
    if (finding.first.process == kNoIndex || finding.first.call == kNoIndex) continue;
    const StackView& view = context.View(finding.first.process, finding.first.call);
    finding.first.stack = view.frames;
    finding.first.source = view.source;
  }
}

void AddCaveats(const Context& context, Diagnosis* diagnosis) {
  const Run& run = context.run;
  for (const Process& process : run.processes) {
    if (process.lost_total() > 0)
      diagnosis->caveats.push_back(
          fmt::format("{} records of rank {} were lost", process.lost_total(), process.rank()));
    for (const std::string& damage : process.damage)
      diagnosis->caveats.push_back(fmt::format("rank {}: {}", process.rank(), damage));
  }
  for (const std::string& sentence : run.unreadable) diagnosis->caveats.push_back(sentence);
  if (uint64_t calls = DroppedCalls(run))
    diagnosis->caveats.push_back(
        fmt::format("{} older calls are known in sums only, since their detail was dropped (DDBG_BUDGET)", calls));
  if (!diagnosis->findings.empty())
    for (const std::string& sentence : context.symbol_caveats()) diagnosis->caveats.push_back(sentence);
  if (context.situations.stopped_from_outside)
    diagnosis->caveats.push_back(
        fmt::format("{}: a stop from outside, which ends the recording and is not the fault", context.situations.stop));
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (context.situation(i).end == EndCause::kFailed)
      diagnosis->caveats.push_back(
          fmt::format("rank {} {} after MPI_Finalize", context.rank(i), DescribeEnd(run.processes[i].end)));
}

// Ranks of MPI_COMM_WORLD that no file is there for.
std::vector<int32_t> Untraced(const Run& run) {
  std::set<int32_t> there;
  int32_t world = 0;
  for (const Process& process : run.processes) {
    if (!IsMpi(process)) continue;
    there.insert(process.rank());
    world = std::max(world, process.world_size());
  }
  std::vector<int32_t> untraced;
  for (int32_t rank = 0; rank < world; ++rank)
    if (!there.count(rank)) untraced.push_back(rank);
  return untraced;
}

bool AnyUnknownEnd(const Context& context) {
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    if (context.situation(i).end == EndCause::kUnknown && !context.situation(i).finalized) return true;
  return false;
}

void SettleWithoutFinding(const Context& context, Diagnosis* diagnosis) {
  std::vector<int32_t> untraced = Untraced(context.run);
  size_t ranks = std::count_if(context.run.processes.begin(), context.run.processes.end(), IsMpi);
  if (ranks == 0) {
    diagnosis->summary = "Cannot tell: no MPI call was recorded.";
  } else if (!untraced.empty()) {
    diagnosis->summary = fmt::format("Cannot tell: {} {} not traced, and nothing is wrong among the others.",
                                     RankList(untraced), untraced.size() == 1 ? "was" : "were");
  } else if (!context.run.unreadable.empty()) {
    diagnosis->summary = "Cannot tell: " + context.run.unreadable[0];
  } else if (AnyUnknownEnd(context)) {
    diagnosis->summary =
        "Cannot tell: the recording stops in the middle of the job and nobody saw how it ended (the disk was full, or "
        "the collector was killed); nothing is wrong before.";
  } else {
    diagnosis->verdict = Diagnosis::kHealthy;
    diagnosis->confidence = 0.95;
    diagnosis->summary =
        fmt::format("No fault found in {} rank{}{}.", ranks, ranks == 1 ? "" : "s",
                    context.run.live                          ? " so far; the job is still running"
                    : context.situations.stopped_from_outside ? " up to the moment the job was stopped from outside"
                                                              : "");
  }
}

}  // namespace

Diagnosis DiagnoseRun(const Run& run) {
  Context context(run);
  Diagnosis diagnosis;
  std::vector<Finding> findings;
  for (Rule rule : kRules)
    for (Finding& finding : rule(context)) findings.push_back(std::move(finding));
  PreferLeak(context, &findings);
  diagnosis.findings = Ordered(std::move(findings));
  AddStacks(context, &diagnosis);
  AddCaveats(context, &diagnosis);
  if (diagnosis.findings.empty()) {
    SettleWithoutFinding(context, &diagnosis);
    return diagnosis;
  }
  diagnosis.verdict = Diagnosis::kFault;
  diagnosis.summary = diagnosis.findings[0].summary;
  diagnosis.confidence = diagnosis.findings[0].confidence;
  std::vector<int32_t> untraced = Untraced(run);
  if (!untraced.empty()) diagnosis.caveats.push_back(RankList(untraced) + " not traced");
  return diagnosis;
}

}  // namespace ddbg::analyzer
