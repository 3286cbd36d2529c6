// Exceptions of Python that nobody caught: the first that is not of a peer who was lost or did not come. The end of the
// process comes later, if it comes at all: another thread may hold it, or an exit handler that waits for the others.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/exceptions.h"
#include "analyzer/model/format.h"
#include "analyzer/stacks/stack_view.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostLines = 8;

struct Raised {
  size_t process;
  Exception exception;
  int64_t t_ns;  // on the run's axis

  bool SameAs(const Raised& other) const {
    return exception.type == other.exception.type && exception.place.file == other.exception.place.file &&
           exception.place.line == other.exception.place.line;
  }
};

// By time; of ranks, or where no process is one, of all.
std::vector<Raised> RaisedInMain(const Context& context) {
  std::vector<Raised> all;
  bool ranks = std::any_of(context.run.processes.begin(), context.run.processes.end(),
                           [](const Process& process) { return process.rank() >= 0; });
  for (size_t p = 0; p < context.run.processes.size(); ++p) {
    if (ranks && context.rank(p) < 0) continue;
    for (Exception& exception : ExceptionsOf(context.process(p))) {
      if (!exception.in_main || exception.of_peers) continue;
      int64_t t_ns = context.StartNs(p, exception.call);
      all.push_back({p, std::move(exception), t_ns});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Raised& a, const Raised& b) { return a.t_ns < b.t_ns; });
  return all;
}

std::string At(const Exception& exception) {
  return exception.place.file.empty() ? "" : " at " + DescribeFrame(&exception.place);
}

// The call that others have made and the process has not: what it did not come to.
void MoveToAwaited(const Context& context, size_t process, BadEvent* first) {
  size_t most = 0;
  for (const CommGroup& group : context.matching.groups) {
    auto own = std::find_if(group.members.begin(), group.members.end(),
                            [&](const Member& member) { return member.process == process; });
    if (own == group.members.end()) continue;
    size_t next = own->calls.size(), there = 0;
    const Member* peer = nullptr;
    for (const Member& member : group.members)
      if (member.At(next) != kNoIndex) ++there, peer = &member;
    if (there <= most) continue;
    most = there;
    BadEvent awaited = context.Event(peer->process, peer->At(next));
    first->comm = awaited.comm, first->comm_uid = awaited.comm_uid;
    first->seq = awaited.seq, first->call_name = awaited.call_name;
  }
}

bool HasBegunWork(const Context& context, const Raised& raised) {
  const Process& process = context.process(raised.process);
  return std::any_of(process.calls.begin(), process.calls.end(), [](const Call& call) {
    if (!call.known() || call.open()) return false;
    return call.info().kind == CallKind::Step || IsCollective(call);
  });
}

void AddEvidence(Context& context, const std::vector<Raised>& all, Finding* finding) {
  const Raised& first = all[0];
  for (const Raised& other : all) {
    if (finding->evidence.size() >= kMostLines) break;
    if (&other == &first) continue;
    finding->evidence.push_back(fmt::format("{} raised {}{}, {} later", RankAndPid(context.process(other.process)),
                                            other.exception.what, At(other.exception),
                                            DurationText(other.t_ns - first.t_ns)));
  }
  if (context.process(first.process).end.how == ProcessEnd::kRunning)
    finding->evidence.push_back(
        fmt::format("{} is still there: another of its threads runs on, or something waits at "
                    "its exit",
                    RankAndPid(context.process(first.process))));
  for (size_t i = 0; i < context.run.processes.size() && finding->evidence.size() < kMostLines; ++i) {
    const Situation& s = context.situation(i);
    bool waits = i != first.process && s.open_call != kNoIndex && s.alive_at_end();
    if (waits) finding->evidence.push_back(fmt::format("rank {} was {}", context.rank(i), context.WhereIs(i)));
  }
}

std::string Summary(const Context& context, const Raised& first, const std::vector<int32_t>& culprits) {
  std::string who = RankAndPid(context.process(first.process)), at = At(first.exception);
  if (culprits.size() < 2)
    return fmt::format("{} raised {}{}, which nobody caught.", Capitalized(who), first.exception.what, at);
  return fmt::format("{} raised {}{}, which nobody caught; first of them {}: {}.", Capitalized(RankList(culprits)),
                     first.exception.type, at, who, first.exception.what);
}

}  // namespace

std::vector<Finding> FindExceptions(Context& context) {
  std::vector<Raised> all = RaisedInMain(context);
  if (all.empty()) return {};
  const Raised& first = all[0];
  Finding finding;
  finding.kind = "uncaught_exception";
  finding.proof = Proof::kOwnEnd;
  finding.confidence = 0.95;
  finding.wont_start = !HasBegunWork(context, first);
  for (const Raised& raised : all)
    if (raised.SameAs(first) && context.rank(raised.process) >= 0)
      finding.culprit_ranks.push_back(context.rank(raised.process));
  std::vector<int32_t>& culprits = finding.culprit_ranks;
  std::sort(culprits.begin(), culprits.end());
  culprits.erase(std::unique(culprits.begin(), culprits.end()), culprits.end());
  finding.first = context.Event(first.process, first.exception.call);
  finding.first.call_name.clear();
  MoveToAwaited(context, first.process, &finding.first);
  finding.first.field = "exception";
  finding.first.expected = "none that nobody catches";
  finding.first.actual = first.exception.what;
  if (!first.exception.place.file.empty()) finding.first.stack = {first.exception.place}, finding.first.source = 0;
  finding.summary = Summary(context, first, culprits);
  AddEvidence(context, all, &finding);
  return {std::move(finding)};
}

}  // namespace ddbg::analyzer
