#include "analyzer/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyzer/context.h"
#include "analyzer/describe.h"
#include "analyzer/find/symptoms.h"
#include "analyzer/run_summary.h"

namespace ddbg::analyzer {
namespace {

using Rule = std::vector<Finding> (*)(Context&);
constexpr Rule kRules[] = {FindStartUp,      FindNcclInit,     FindProcessEnds, FindMismatches,
                           FindNcclMessages, FindNcclErrors,   FindWaits,       FindDeviceStalls,
                           FindUnmatched,    FindStreamMisuse, FindCommLeaks};

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

// Calls that were captured are carried out as often as their graph is launched, which the calls do not tell.
void AddGraphCaveats(const Context& context, Diagnosis* diagnosis) {
  for (size_t g = 0; g < context.matching.groups.size(); ++g) {
    size_t from = context.replay.undecided_from[g];
    if (from == kNoIndex) continue;
    std::string launches;
    for (const Member& member : context.matching.groups[g].members)
      launches += fmt::format("{}rank {}: {}", launches.empty() ? "" : ", ", context.rank(member.process),
                              context.replay.streams[member.process].graph_launches);
    diagnosis->caveats.push_back(fmt::format(
        "from #{} on {} some ranks captured their calls into a graph and others did not, so that their order "
        "cannot be compared (graph launches: {})",
        from, context.matching.groups[g].name, launches));
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
  AddGraphCaveats(context, diagnosis);
  if (context.situations.stopped_from_outside)
    diagnosis->caveats.push_back(
        fmt::format("{}: a stop from outside, which ends the recording and is not the fault", context.situations.stop));
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (context.situation(i).end == EndCause::kFailed)
      diagnosis->caveats.push_back(
          fmt::format("rank {} {} after MPI_Finalize", context.rank(i), DescribeEnd(run.processes[i].end)));
}

// Ranks of MPI_COMM_WORLD that no file is there for.
std::vector<int32_t> Untraced(const Context& context) {
  const Run& run = context.run;
  std::set<int32_t> there;
  int32_t world = 0;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const Process& process = run.processes[i];
    if (!context.situation(i).communicates) continue;
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

bool AnyUndecided(const Context& context) {
  const std::vector<size_t>& from = context.replay.undecided_from;
  return std::any_of(from.begin(), from.end(), [](size_t seq) { return seq != kNoIndex; });
}

// A rank that waits for its device for long, where what it has put there cannot be done or is not known.
std::string UnexplainedWait(Context& context) {
  constexpr double kLongSeconds = 10.0;
  const Replay& replay = context.replay;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Situation& s = context.situation(i);
    if (!s.alive_at_end() || s.open_call == kNoIndex || context.OpenSeconds(i, s.open_call) < kLongSeconds) continue;
    if (!IsNccl(context.call(i, s.open_call)) && !IsCuda(context.call(i, s.open_call))) continue;
    bool stuck = std::any_of(replay.first_lane[i].begin(), replay.first_lane[i].end(),
                             [&](size_t lane) { return replay.IsStuck(replay.lanes[lane]); });
    if (stuck || AnyUndecided(context) || context.run.processes[i].lost_total() > 0)
      return fmt::format("rank {} is {}, and what was recorded does not say why.", context.rank(i), context.WhereIs(i));
  }
  return "";
}

void SettleWithoutFinding(Context& context, Diagnosis* diagnosis) {
  std::vector<int32_t> untraced = Untraced(context);
  size_t ranks = std::count_if(context.situations.of.begin(), context.situations.of.end(),
                               [](const Situation& s) { return s.communicates; });
  if (ranks == 0) {
    diagnosis->summary = "Cannot tell: no call of MPI or NCCL was recorded.";
  } else if (!untraced.empty()) {
    diagnosis->summary = fmt::format("Cannot tell: {} {} not traced, and nothing is wrong among the others.",
                                     RankList(untraced), untraced.size() == 1 ? "was" : "were");
  } else if (std::string wait = UnexplainedWait(context); !wait.empty()) {
    diagnosis->summary = "Cannot tell: " + wait;
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
  if (!diagnosis.findings.empty()) AddSymptoms(context, &diagnosis.findings[0]);
  AddStacks(context, &diagnosis);
  AddCaveats(context, &diagnosis);
  if (diagnosis.findings.empty()) {
    SettleWithoutFinding(context, &diagnosis);
    return diagnosis;
  }
  diagnosis.verdict = Diagnosis::kFault;
  diagnosis.summary = diagnosis.findings[0].summary;
  diagnosis.confidence = diagnosis.findings[0].confidence;
  std::vector<int32_t> untraced = Untraced(context);
  if (!untraced.empty()) diagnosis.caveats.push_back(RankList(untraced) + " not traced");
  return diagnosis;
}

}  // namespace ddbg::analyzer
