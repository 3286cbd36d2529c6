// Requests of one call site that nobody ever completes or frees.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"
#include "proto/operations.h"

namespace ddbg::analyzer {
namespace {

// One that is left at the end does no harm; a site of which none is ever completed is a mistake.
constexpr size_t kFewest = 8;
// In a job that still runs they may be completed yet, but not that many.
constexpr size_t kManyPending = 1024;

struct SiteUse {
  size_t first = kNoIndex;  // call whose request is pending
  size_t pending = 0, completed = 0;
};

// By (call, site). Persistent ones are made to be used again, and inactive in between.
std::map<std::pair<uint16_t, uint64_t>, SiteUse> Uses(Context& context, size_t index) {
  const Process& process = context.process(index);
  std::unordered_set<uint64_t> over;
  for (const Call& call : process.calls) {
    const CallInfo* info = call.known() && !call.open() ? &call.info() : nullptr;
    if (CompletesOperation(info, call.call, call.aux, call.flags)) over.insert(call.aux);
  }
  std::map<std::pair<uint16_t, uint64_t>, SiteUse> uses;
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!call.known() || call.info().api != Api::Mpi || !call.info().has_request || call.aux == 0 || call.open() ||
        call.result != 0 || !PostsOperation(call.info()))
      continue;
    CallKind kind = call.info().kind;
    if (kind != CallKind::Send && kind != CallKind::Recv && kind != CallKind::Mrecv && kind != CallKind::Collective)
      continue;
    SiteUse& use = uses[{call.call, context.Site(index, call.stack)}];
    if (call.flags & (kFlagCompletedAtPost | kFlagUntracked) || over.count(call.aux))
      ++use.completed;
    else if (++use.pending == 1)
      use.first = i;
  }
  return uses;
}

bool IsWhole(const Process& process) {
  return process.lost_total() == 0 && process.damage.empty() && process.dropped.until_ns == 0;
}

}  // namespace

std::vector<Finding> FindRequestLeaks(Context& context) {
  Finding finding;
  size_t most = 0;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (!IsWhole(context.process(i))) continue;
    size_t fewest = context.situation(i).finalized ? kFewest : kManyPending;
    for (const auto& [site, use] : Uses(context, i)) {
      if (use.pending < fewest || use.completed > 0) continue;
      finding.culprit_ranks.push_back(context.rank(i));
      std::string line = context.Line(i, use.first);
      finding.evidence.push_back(fmt::format("rank {}: {} requests of {}{}, none completed or freed", context.rank(i),
                                             use.pending, CallName(context.process(i), context.call(i, use.first)),
                                             line.empty() ? "" : " at " + line));
      most = std::max(most, use.pending);
      if (finding.first.process == kNoIndex || context.StartNs(i, use.first) < finding.first.t_ns)
        finding.first = context.Event(i, use.first);
    }
  }
  if (finding.culprit_ranks.empty()) return {};
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.culprit_ranks.erase(std::unique(finding.culprit_ranks.begin(), finding.culprit_ranks.end()),
                              finding.culprit_ranks.end());
  finding.kind = "request_leak";
  finding.proof = Proof::kState;
  finding.first.field = "request";
  finding.first.expected = "completed by a wait or test, or freed";
  finding.first.actual = "never";
  const Call& call = context.call(finding.first.process, finding.first.call);
  std::string line = context.Line(finding.first.process, finding.first.call);
  bool sends = ddbg::DirectionOf(call.info(), call.op, call.flags) == Direction::kSend;
  finding.summary = fmt::format(
      "{} completed none of {} requests, the first of {}{}. {}", Capitalized(RankList(finding.culprit_ranks)), most,
      context.Describe(finding.first.process, finding.first.call), line.empty() ? "" : " at " + line,
      sends ? "Until such a send is completed its buffer must not be written to, and nothing says when it is."
            : "Until it is completed nothing says that its data is there.");
  finding.confidence = 0.85;
  return {finding};
}

}  // namespace ddbg::analyzer
