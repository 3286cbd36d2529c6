#include "analyzer/find/divergence.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/describe.h"
#include "analyzer/find/shift.h"

namespace ddbg::analyzer {
namespace {

std::vector<Step> Path(Context& context, const Member& member) {
  std::vector<Step> path;
  for (size_t call : member.calls) {
    if (call == kNoIndex) return path;  // lost: what follows cannot be placed
    const Call& c = context.call(member.process, call);
    path.push_back({c.call, context.Site(member.process, c.stack)});
  }
  return path;
}

const Member* MemberOfRank(const Context& context, const CommGroup& group, int32_t rank) {
  for (const Member& member : group.members)
    if (context.rank(member.process) == rank) return &member;
  return nullptr;
}

bool IsCulprit(const Finding& finding, int32_t rank) {
  return std::find(finding.culprit_ranks.begin(), finding.culprit_ranks.end(), rank) != finding.culprit_ranks.end();
}

// Any member that is not blamed stands for the rest; the longest path says most.
const Member* Reference(const Context& context, const CommGroup& group, const Finding& finding) {
  const Member* best = nullptr;
  for (const Member& member : group.members)
    if (!IsCulprit(finding, context.rank(member.process)) && (!best || member.calls.size() > best->calls.size()))
      best = &member;
  return best;
}

}  // namespace

void ExplainByShift(Context& context, const CommGroup& group, size_t seq, Finding* finding) {
  const Member* reference = Reference(context, group, *finding);
  // Two ranks that disagree: neither is the majority, each stands for the other.
  if (!reference && finding->culprit_ranks.size() == 2)
    reference = MemberOfRank(context, group, finding->culprit_ranks[1]);
  const Member* culprit =
      finding->culprit_ranks.empty() ? nullptr : MemberOfRank(context, group, finding->culprit_ranks[0]);
  if (!reference || !culprit) return;
  Shift shift = FindShift(Path(context, *culprit), Path(context, *reference));
  if (!shift.found || shift.at > seq) return;
  size_t own = culprit->At(shift.at), theirs = reference->At(shift.at);
  if (own == kNoIndex || theirs == kNoIndex) return;
  bool same_call = context.call(culprit->process, own).call == context.call(reference->process, theirs).call;
  std::string later = finding->summary;
  std::string field = finding->first.field, line = context.Line(culprit->process, own),
              their_line = context.Line(reference->process, theirs);
  finding->first = context.Event(culprit->process, own);
  finding->first.field = same_call ? "call site" : "call";
  finding->first.actual =
      same_call ? line : CallName(context.process(culprit->process), context.call(culprit->process, own));
  finding->first.expected =
      same_call ? their_line : CallName(context.process(reference->process), context.call(reference->process, theirs));
  finding->kind = same_call ? "callsite_mismatch" : "collective_mismatch";
  finding->failure_class.clear();
  finding->proof = Proof::kMismatch;
  finding->summary = fmt::format(
      "{} called {} from {}, where its peers called {} from {}: it made {} collective{} {} than they did from there "
      "on.",
      RankList(finding->culprit_ranks), context.Describe(culprit->process, own),
      line.empty() ? "an unknown place" : line,
      CallName(context.process(reference->process), context.call(reference->process, theirs)),
      their_line.empty() ? "an unknown place" : their_line, shift.length, shift.length == 1 ? "" : "s",
      shift.in_longer ? "more" : "fewer");
  finding->evidence.insert(finding->evidence.begin(), "what came of it: " + later);
  if (same_call && shift.length > 1) finding->confidence = std::min(finding->confidence, 0.9);
}

}  // namespace ddbg::analyzer
