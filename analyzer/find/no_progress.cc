#include "analyzer/find/no_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

struct Stuck {
  std::vector<size_t> inside;   // processes in a call that needs nothing more from a peer
  std::vector<size_t> waiting;  // those who wait for a rank that is inside are no part of it
};

// Nothing if somebody still may get on by itself.
std::optional<Stuck> WhoIsStuck(const Context& context, const std::vector<WaitNode>& nodes) {
  Stuck stuck;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (!context.situation(i).communicates) continue;
    if (nodes[i].stand == Stand::kFinalize || nodes[i].stand == Stand::kEnded) continue;
    bool waits = nodes[i].stand == Stand::kWaiting;
    if ((nodes[i].stand != Stand::kInside && !waits) || nodes[i].seconds < kNoProgressSeconds) return std::nullopt;
    (waits ? stuck.waiting : stuck.inside).push_back(i);
  }
  if (stuck.inside.empty()) return std::nullopt;
  size_t first = stuck.inside[0];
  if (IsCuda(context.call(first, context.situation(first).open_call))) return std::nullopt;
  // One alone may write a file.
  if (stuck.inside.size() == 1 && (stuck.waiting.empty() || !nodes[first].met)) return std::nullopt;
  return stuck;
}

// Ranks for which the collective that `process` is in has returned.
std::vector<int32_t> WhoLeft(const Context& context, size_t process) {
  const Call& open = context.call(process, context.situation(process).open_call);
  std::vector<int32_t> left;
  const CommGroup* group = IsCollective(open) ? context.matching.Group(UidOf(context.process(process), open)) : nullptr;
  if (!group) return left;
  for (const Member& member : group->members) {
    size_t call = member.At(open.seq);
    if (call != kNoIndex && !context.call(member.process, call).open()) left.push_back(context.rank(member.process));
  }
  std::sort(left.begin(), left.end());
  return left;
}

std::string Summary(Context& context, const Finding& finding, size_t process, double seconds) {
  std::string ranks = RankList(finding.culprit_ranks), call = context.Describe(process, finding.first.call);
  std::vector<int32_t> left = WhoLeft(context, process);
  if (finding.culprit_ranks.size() == 1)
    return fmt::format(
        "{} has been in {} for {:.1f} s. Its peers have done their part of it and wait for it in MPI, so that nothing "
        "keeps it back but the library or the network.",
        ranks, call, seconds);
  if (!left.empty())
    return fmt::format(
        "{} have been in {} for {:.1f} s. All had entered it with equal arguments and {} {} left it, so that nothing "
        "keeps these back but the library or the network between them and the others.",
        ranks, call, seconds, RankList(left), left.size() == 1 ? "has" : "have");
  return fmt::format("{} entered {} with equal arguments, and nobody has left it for {:.1f} s.", ranks, call, seconds);
}

}  // namespace

std::vector<Finding> FindNoProgress(Context& context, const std::vector<WaitNode>& nodes) {
  std::optional<Stuck> stuck = WhoIsStuck(context, nodes);
  if (!stuck) return {};
  size_t first = stuck->inside[0];
  Finding finding;
  for (size_t i : stuck->inside) finding.culprit_ranks.push_back(context.rank(i));
  for (const std::vector<size_t>* part : {&stuck->inside, &stuck->waiting})
    for (size_t i : *part)
      finding.evidence.push_back(fmt::format("rank {} is {}", context.rank(i), context.WhereIs(i)));
  finding.kind = "library_stall";
  finding.proof = Proof::kNoProgress;
  finding.first = context.Event(first, context.situation(first).open_call);
  finding.first.field = "progress";
  finding.first.expected = "return";
  finding.first.actual = "open";
  finding.confidence = 0.6;
  finding.summary = Summary(context, finding, first, nodes[first].seconds);
  return {std::move(finding)};
}

}  // namespace ddbg::analyzer
