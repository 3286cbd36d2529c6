#include "analyzer/verdict/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/context/context.h"
#include "analyzer/find/clock_step.h"
#include "analyzer/find/concurrent.h"
#include "analyzer/find/departure.h"
#include "analyzer/find/differences.h"
#include "analyzer/find/doubt.h"
#include "analyzer/find/exception.h"
#include "analyzer/find/step_counts.h"
#include "analyzer/find/symptoms.h"
#include "analyzer/find/timeout.h"
#include "analyzer/launch/rank_sources.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/losses.h"
#include "analyzer/report/run_summary.h"
#include "analyzer/report/spawned.h"
#include "analyzer/verdict/marks_alone.h"

namespace ddbg::analyzer {
namespace {

using Rule = std::vector<Finding> (*)(Context&);
constexpr Rule kRules[] = {FindStartUp,
                           FindNcclInit,
                           FindProcessEnds,
                           FindMismatches,
                           FindNcclMessages,
                           FindNcclErrors,
                           FindWaits,
                           FindDeviceStalls,
                           FindUnmatched,
                           FindStreamMisuse,
                           FindCommLeaks,
                           FindStaleWeights,
                           FindDuplicateData,
                           FindLeftChildren,
                           FindFrozen,
                           FindThrottled,
                           FindCpuContention,
                           FindIoStalls,
                           FindClockSteps,
                           FindExceptions,
                           FindConcurrentCollectives,
                           FindMessageMismatches,
                           FindRequestLeaks,
                           FindTagOverflow,
                           FindDisplacements,
                           FindGroupOrder,
                           FindModifiedBuffers};

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

// Facts of the node that say why a rank was late or absent, where others only say that it was.
bool IsReason(const Finding& finding) {
  return finding.kind == "frozen" || finding.kind == "throttled" || finding.kind == "cpu_contention" ||
         finding.kind == "io_stall";
}

bool ComesBefore(const Finding& a, const Finding& b) {
  if (Weight(a) != Weight(b)) return Weight(a) < Weight(b);
  if (a.proof == Proof::kTiming && IsReason(a) != IsReason(b)) return IsReason(a);
  if (a.first.t_ns != b.first.t_ns) return a.first.t_ns < b.first.t_ns;
  return a.proof < b.proof;
}

// A fact hides the symptoms it causes. A leak is neither cause nor symptom of what went wrong between the ranks.
bool Explains(const Finding& cause, const Finding& symptom) {
  if (cause.proof == Proof::kStartUp || symptom.proof == Proof::kUnknown) return true;
  bool same_ranks = cause.culprit_ranks == symptom.culprit_ranks;
  if (IsReason(cause) && symptom.proof == Proof::kTiming && same_ranks) return true;
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

// The step that most peers are in with the call of this sequence number; −1: none is in any. Nothing where none made
// it.
std::optional<int64_t> StepOfPeers(const Context& context, const BadEvent& event) {
  const CommGroup* group = event.seq >= 0 ? context.matching.Group(event.comm_uid) : nullptr;
  if (!group) return std::nullopt;
  bool any = false;
  std::map<int64_t, size_t> votes;
  for (const Member& member : group->members) {
    size_t call = member.process == event.process ? kNoIndex : member.At(static_cast<size_t>(event.seq));
    int64_t step = call == kNoIndex ? -1 : context.steps.NumberOf(member.process, call);
    any = any || call != kNoIndex;
    if (step >= 0) ++votes[step];
  }
  auto most =
      std::max_element(votes.begin(), votes.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  if (!any) return std::nullopt;
  return most == votes.end() ? -1 : most->first;
}

bool IsCallOf(const Context& context, const BadEvent& event) {
  const Call& call = context.call(event.process, event.call);
  return event.seq < 0 ||
         (static_cast<int64_t>(call.seq) == event.seq && UidOf(context.process(event.process), call) == event.comm_uid);
}

// A rank that left a call out is already in the next step with the call that meets its peers', and one with a call too
// many is still in the step before: the earlier one is where it went wrong.
int64_t StepInOrder(const Context& context, const BadEvent& event) {
  std::optional<int64_t> met = StepOfPeers(context, event);
  int64_t peers = met.value_or(-1);
  if (event.process == kNoIndex) return peers;
  if (event.call == kNoIndex) {
    if (peers >= 0 || event.t_ns <= 0) return peers;
    return context.steps.NumberAt(event.process, event.t_ns);
  }
  int64_t own = context.steps.NumberOf(event.process, event.call);
  // The rank is in its first step already, with a call that it makes instead.
  if (met && peers < 0 && context.steps.source() == StepSource::kMarks && !IsCallOf(context, event)) return -1;
  if (peers < 0) return own;
  return own >= 0 && IsCallOf(context, event) ? std::min(own, peers) : peers;
}

// What comes behind the calls that are in each step, a checkpoint for one, is still in it as long as no other has
// begun.
int64_t StepOf(const Context& context, const BadEvent& event) {
  int64_t step = StepInOrder(context, event);
  if (step >= 0 || event.process == kNoIndex || event.call == kNoIndex) return step;
  const std::vector<Step>& steps = context.steps.of(event.process);
  const Situation& situation = context.situation(event.process);
  const Call& call = context.call(event.process, event.call);
  bool leaves =
      situation.finalized || situation.in_finalize || (call.known() && call.info().kind == CallKind::Finalize);
  return steps.empty() || leaves || event.call < steps.back().end_call ? -1 : steps.back().number;
}

void AddSteps(const Context& context, Diagnosis* diagnosis) {
  for (Finding& finding : diagnosis->findings) {
    finding.first.step = StepOf(context, finding.first);
    if (finding.first.step >= 0) finding.first.step_source = SourceName(context.steps.source());
  }
}

void AddStacks(Context& context, Diagnosis* diagnosis) {
  for (Finding& finding : diagnosis->findings) {
    if (finding.first.process == kNoIndex || finding.first.call == kNoIndex || !finding.first.stack.empty()) continue;
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

// Who else stands between the program and MPI.
std::set<std::string> OtherTools(const Run& run) {
  std::set<std::string> sentences;
  for (const Process& process : run.processes)
    for (const Level& level : process.levels)
      if (level.name == "MPI tool") sentences.insert(level.why);
  return sentences;
}

void AddSpawned(Context& context, Diagnosis* diagnosis) {
  for (const SpawnedWorld& world : context.run.spawned) {
    size_t root = context.ProcessOfRank(world.root);
    bool known = world.root >= 0 && root != kNoIndex && world.call < context.process(root).calls.size();
    diagnosis->caveats.push_back(
        SpawnedText(context.run, world, known ? context.Line(root, world.call) : std::string()));
  }
}

void AddCaveats(Context& context, Diagnosis* diagnosis) {
  const Run& run = context.run;
  AddSpawned(context, diagnosis);
  for (const Process& process : run.processes) {
    if (process.lost_total() > 0)
      diagnosis->caveats.push_back(
          fmt::format("{} records of rank {} were lost", process.lost_total(), process.rank()));
    for (const std::string& damage : process.damage)
      diagnosis->caveats.push_back(fmt::format("rank {}: {}", process.rank(), damage));
  }
  for (const std::string& sentence : run.unreadable) diagnosis->caveats.push_back(sentence);
  for (const std::string& sentence : run.caveats) diagnosis->caveats.push_back(sentence);
  bool by_choice = std::any_of(run.processes.begin(), run.processes.end(),
                               [](const Process& process) { return process.dropped.by_choice; });
  if (uint64_t calls = DroppedCalls(run))
    diagnosis->caveats.push_back(
        fmt::format("{} older calls are known in sums only, since {}", calls,
                    by_choice ? "only the end of the run was looked at" : "their detail was dropped (DDBG_BUDGET)"));
  if (!diagnosis->findings.empty())
    for (const std::string& sentence : context.symbol_caveats()) diagnosis->caveats.push_back(sentence);
  for (const std::string& note : context.notes) diagnosis->caveats.push_back(note);
  for (const std::string& sentence : OtherTools(run)) diagnosis->caveats.push_back(sentence);
  AddGraphCaveats(context, diagnosis);
  for (std::string& sentence : ClockCaveats(context, diagnosis->findings))
    diagnosis->caveats.push_back(std::move(sentence));
  for (std::string& sentence : RankDisagreements(run)) diagnosis->caveats.push_back(std::move(sentence));
  if (context.situations.stopped_from_outside)
    diagnosis->caveats.push_back(
        fmt::format("{}: a stop from outside, which ends the recording and is not the fault", context.situations.stop));
  bool told = !diagnosis->findings.empty() &&
              (diagnosis->findings[0].kind == "env_mismatch" || diagnosis->findings[0].kind == "version_mismatch");
  for (const std::string& sentence : told ? std::vector<std::string>() : RiskyDifferences(context))
    diagnosis->caveats.push_back(sentence + ", where all ranks should have the same");
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (context.situation(i).end == EndCause::kFailed)
      diagnosis->caveats.push_back(
          fmt::format("rank {} {} after MPI_Finalize", context.rank(i), DescribeEnd(run.processes[i].end)));
}

// Ranks of the job that no file is there for.
std::vector<int32_t> Untraced(const Context& context) {
  const Run& run = context.run;
  std::set<int32_t> there;
  int32_t world = 0;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const Process& process = run.processes[i];
    if (!context.situation(i).communicates && !context.situation(i).joins) continue;
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
    if (stuck || AnyUndecided(context) || context.run.processes[i].lost_total() > 0 ||
        context.run.processes[i].dropped.by_choice)
      return fmt::format("rank {} is {}, and what was recorded does not say why.", context.rank(i), context.WhereIs(i));
  }
  return "";
}

// What is missing of the recording, where a fault may lie.
std::string Gap(const Run& run) {
  if (!run.unreadable.empty()) return run.unreadable[0];
  std::vector<int32_t> ranks;
  for (const Process& process : run.processes)
    if (LacksCalls(process)) ranks.push_back(process.rank());
  if (ranks.empty()) return "";
  std::sort(ranks.begin(), ranks.end());
  return fmt::format("a part of what {} did is missing from the trace, and nothing is wrong in the rest.",
                     RankList(ranks));
}

void SettleWithoutFinding(Context& context, Diagnosis* diagnosis) {
  size_t ranks = std::count_if(context.situations.of.begin(), context.situations.of.end(),
                               [](const Situation& s) { return s.communicates; });
  std::vector<Finding> untraced = FindNotTraced(context);
  if (ranks == 0) {
    MarksAlone marks = JudgeMarksAlone(context.run);
    diagnosis->summary = marks.summary;
    if (marks.healthy) diagnosis->verdict = Diagnosis::kHealthy, diagnosis->confidence = 0.95;
  } else if (!untraced.empty()) {
    diagnosis->summary = untraced[0].summary;
    diagnosis->findings = std::move(untraced);
  } else if (std::string wait = UnexplainedWait(context); !wait.empty()) {
    diagnosis->summary = "Cannot tell: " + wait;
  } else if (std::string gap = Gap(context.run); !gap.empty()) {
    diagnosis->summary = "Cannot tell: " + gap;
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
  // Timing comes last, and what has gone wrong disturbs it.
  if (std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.proof == Proof::kState; }))
    for (Rule rule : {FindStragglers, FindSlowLinks})
      for (Finding& finding : rule(context)) findings.push_back(std::move(finding));
  PreferLeak(context, &findings);
  DropWhatOverlapsExplain(&findings);
  diagnosis.findings = Ordered(std::move(findings));
  if (diagnosis.findings.empty()) NoteUnsafeSends(context);
  if (!diagnosis.findings.empty()) {
    ExplainByPath(context, &diagnosis.findings[0]);
    ExplainByDifferences(context, &diagnosis.findings[0]);
    ExplainByException(context, &diagnosis.findings[0]);
    ExplainByTimeout(context, &diagnosis.findings[0]);
    TellStepCounts(context, &diagnosis.findings[0]);
    AddSymptoms(context, &diagnosis.findings[0]);
  }
  for (Finding& finding : diagnosis.findings) WeighGaps(context, &finding);
  AddSteps(context, &diagnosis);
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
