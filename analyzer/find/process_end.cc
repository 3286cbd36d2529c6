// Rule 1: a process that ended by itself in the middle of the job. Those the launcher took down afterwards, and a stop
// that hit everyone, are not faults.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/context/waits.h"
#include "analyzer/find/full_file_system.h"
#include "analyzer/find/oom_kill.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

// Ranks whose open call cannot return without `process`.
std::vector<std::string> Waiters(Context& context, size_t process) {
  std::vector<std::string> evidence;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Situation& s = context.situation(i);
    if (i == process || s.open_call == kNoIndex || !s.alive_at_end()) continue;
    evidence.push_back(fmt::format("rank {} was {}", context.rank(i), context.WhereIs(i)));
    if (evidence.size() >= 8) break;
  }
  return evidence;
}

std::string Place(Context& context, size_t process) {
  const Situation& s = context.situation(process);
  size_t call = s.open_call != kNoIndex ? s.open_call : s.last_call;
  if (call == kNoIndex) return "before its first call";
  std::string line = context.Line(process, call);
  return fmt::format("{} {}{}", s.open_call != kNoIndex ? "inside" : "after", context.Describe(process, call),
                     line.empty() ? "" : " at " + line);
}

bool UsesMpi(const Process& process) {
  return !process.mpi_abi.empty() || std::any_of(process.calls.begin(), process.calls.end(), [](const Call& call) {
    return call.known() && call.info().api == Api::Mpi;
  });
}

Finding Killed(Context& context, size_t process) {
  Finding finding;
  const ProcessEnd& end = context.process(process).end;
  finding.kind = "process_killed";
  finding.wont_start = UsesMpi(context.process(process)) && !context.situation(process).initialized;
  finding.first.field = "process";
  finding.first.expected = "running";
  finding.first.actual = SignalName(end.code);
  finding.summary =
      fmt::format("{} was ended by {}{} {}.", Capitalized(RankAndPid(context.process(process))), SignalName(end.code),
                  end.core_dumped ? " with a core dump" : "", Place(context, process));
  return finding;
}

Finding Exited(Context& context, size_t process) {
  Finding finding;
  const Process& p = context.process(process);
  const Situation& s = context.situation(process);
  bool in_init = UsesMpi(p) && !s.initialized;
  finding.kind = in_init ? "init_error" : "early_exit";
  finding.wont_start = in_init;
  finding.first.field = "process";
  finding.first.expected = "running";
  finding.first.actual = DescribeEnd(p.end);
  std::string how = "";
  if (s.open_call != kNoIndex && UsesMpi(p)) how = ", which the MPI library does on an error inside a call";
  if (p.end.abort_called)
    finding.summary = fmt::format("{} called MPI_Abort, which ends the whole job: {}.", Capitalized(RankAndPid(p)),
                                  Place(context, process));
  else
    finding.summary =
        fmt::format("{} {} {}{}{}.", Capitalized(RankAndPid(p)), DescribeEnd(p.end), Place(context, process), how,
                    UsesMpi(p) ? ", without reaching MPI_Finalize" : ", in the middle of the job");
  return finding;
}

std::string WentAlone(uint32_t peers) {
  return peers == 1 ? "when it went down, the other rank on its node was unharmed"
                    : fmt::format("when it went down, the {} other ranks on its node were unharmed", peers);
}

Finding AllStopped(Context& context) {
  // SIGKILL lets nobody say goodbye and is no user's Ctrl-C: worth a verdict of its own, with its doubt.
  Finding finding;
  finding.kind = "process_killed";
  finding.confidence = 0.5;
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    if (context.situation(i).end == EndCause::kStopped) finding.culprit_ranks.push_back(context.rank(i));
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.first.field = "process";
  finding.first.expected = "running";
  finding.first.actual = "SIGKILL";
  finding.summary = fmt::format("{} were ended by SIGKILL at once, from outside the job; nothing was wrong before.",
                                RankList(finding.culprit_ranks));
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    if (context.situation(i).end == EndCause::kStopped)
      finding.evidence.push_back(fmt::format("rank {}: {}", context.rank(i), Place(context, i)));
  return finding;
}

// Does everyone else wait for `target`, directly or through others?
bool AllWaitFor(const std::vector<WaitNode>& nodes, size_t target) {
  std::vector<std::vector<size_t>> waiters(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::vector<WaitEdge>* edges : {&nodes[i].edges, &nodes[i].perhaps})
      for (const WaitEdge& edge : *edges)
        if (edge.to != kNoIndex) waiters[edge.to].push_back(i);
  std::vector<bool> waits(nodes.size(), false);
  waits[target] = true;
  size_t processes = static_cast<size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const WaitNode& node) { return !node.is_stream(); }));
  for (std::vector<size_t> reached = {target}; !reached.empty();) {
    size_t at = reached.back();
    reached.pop_back();
    for (size_t waiter : waiters[at]) {
      if (waits[waiter]) continue;
      waits[waiter] = true;
      reached.push_back(waiter);
    }
  }
  return std::find(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(processes), false) ==
         waits.begin() + static_cast<std::ptrdiff_t>(processes);
}

int64_t EndNs(const Context& context, size_t process) {
  return context.timeline.At(process, context.process(process).end.t_ns);
}

// Did another rank begin a call after `process` was seen dead? Then it was not one signal to all.
bool OthersWentOn(const Context& context, size_t process) {
  int64_t end_ns = EndNs(context, process);
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (i == process || context.process(i).calls.empty()) continue;
    // By what the clocks of two hosts may be wrong, it may have been before.
    int64_t error_ns = context.timeline.ErrorNs(process, i, end_ns);
    if (error_ns == kUnknownError) continue;
    if (context.StartNs(i, context.process(i).calls.size() - 1) > end_ns + error_ns) return true;
  }
  return false;
}

// hydra takes a job down by SIGKILL within some 20 ms of one rank's, so the times of death hardly tell the two apart.
// But until then the others go on, or come to wait for the one that is gone. For processes that no collector saw
// together.
size_t KilledFirst(Context& context) {
  constexpr int64_t kLeadNs = 6'000'000;
  size_t first = kNoIndex;
  int64_t second_ns = INT64_MAX;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (context.situation(i).end != EndCause::kStopped) continue;
    if (first == kNoIndex || EndNs(context, i) < EndNs(context, first)) first = i;
  }
  if (first == kNoIndex || context.run.processes.size() < 2 || context.process(first).end.peers > 0) return kNoIndex;
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    if (i != first) second_ns = std::min(second_ns, EndNs(context, i));
  if (OthersWentOn(context, first)) return first;
  return second_ns - EndNs(context, first) >= kLeadNs && AllWaitFor(BuildWaits(context), first) ? first : kNoIndex;
}

bool AllKilled(const Context& context) {
  if (!context.situations.stopped_from_outside) return false;
  for (const Process& process : context.run.processes)
    if (process.end.how == ProcessEnd::kSignaled && process.end.code == SIGKILL) return true;
  return false;
}

void Place(Context& context, size_t process, Finding* finding) {
  const Situation& s = context.situation(process);
  BadEvent where = context.Event(process, s.open_call != kNoIndex ? s.open_call : s.last_call);
  where.field = finding->first.field;
  where.expected = finding->first.expected;
  where.actual = finding->first.actual;
  where.t_ns = EndNs(context, process);
  finding->first = where;
}

// The end of a wait that went nowhere: whatever explains the wait explains this.
void ExplainGivingUp(Finding* finding) {
  finding->proof = Proof::kUnknown;
  finding->confidence = 0.4;
  finding->evidence.insert(
      finding->evidence.begin(),
      "it had waited for its device or for others before: the end of a hang (as by a watchdog's or "
      "a group's timeout), and not its beginning");
}

}  // namespace

std::vector<Finding> FindProcessEnds(Context& context) {
  std::vector<Finding> findings;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (context.situation(i).end != EndCause::kOwn) continue;
    const ProcessEnd& end = context.process(i).end;
    Finding finding = end.how == ProcessEnd::kSignaled && !end.abort_called ? Killed(context, i) : Exited(context, i);
    finding.culprit_ranks = {context.rank(i)};
    finding.proof = Proof::kOwnEnd;
    Place(context, i, &finding);
    finding.evidence = Waiters(context, i);
    ExplainByOomKill(context, i, &finding);
    ExplainByFullFileSystem(context, i, &finding);
    if (context.situation(i).gave_up) ExplainGivingUp(&finding);
    if (end.went_alone()) {
      finding.evidence.insert(finding.evidence.begin(), WentAlone(end.peers));
      // One who kills them all may be interrupted between the first and the second.
      if (finding.kind == "process_killed" && end.code == SIGKILL) finding.confidence = 0.9;
    } else if (finding.kind == "process_killed" && end.peers > 0 && (end.code == SIGKILL || end.code == SIGTERM)) {
      finding.evidence.insert(
          finding.evidence.begin(),
          "others on its node were going down when it was seen to: the launcher may have killed it");
      finding.confidence = 0.5;
    }
    findings.push_back(std::move(finding));
  }
  size_t killed_first = findings.empty() && AllKilled(context) ? KilledFirst(context) : kNoIndex;
  if (killed_first != kNoIndex) {
    Finding finding = Killed(context, killed_first);
    finding.culprit_ranks = {context.rank(killed_first)};
    finding.proof = Proof::kOwnEnd;
    finding.confidence = 0.7;
    Place(context, killed_first, &finding);
    finding.evidence = Waiters(context, killed_first);
    finding.evidence.insert(
        finding.evidence.begin(),
        "it ended first; the others, taken down by the same signal, went on or waited for it meanwhile");
    ExplainByOomKill(context, killed_first, &finding);
    findings.push_back(std::move(finding));
  } else if (findings.empty() && AllKilled(context)) {
    Finding finding = AllStopped(context);
    for (size_t i = 0; i < context.run.processes.size(); ++i)
      if (context.situation(i).end == EndCause::kStopped) {
        Place(context, i, &finding);
        ExplainByOomKill(context, i, &finding);  // a cgroup that is killed as a whole (memory.oom.group)
        break;
      }
    finding.proof = Proof::kUnknown;  // anything that was wrong before explains more
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace ddbg::analyzer
