#include "analyzer/find/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "analyzer/find/shift.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

// Detail before this was dropped on some member: paths begin where all are known.
size_t FirstKnown(const CommGroup& group) {
  size_t first = 0;
  for (const Member& member : group.members) {
    if (member.calls.first() < member.calls.size()) first = std::max(first, member.calls.first());
  }
  return first;
}

// Of a call of NCCL, whose count, type, operator and root must be the same everywhere.
uint64_t ArgumentsOf(const Context& context, size_t process, const Call& call) {
  bool same = call.known() && IsNccl(call) &&
              (call.info().shape == CallShape::Same || call.info().shape == CallShape::SameRoot);
  if (!same) return 0;
  std::string text =
      fmt::format("{} {} {} {}", call.count, DatatypeName(context.process(process), call.dtype), call.op, call.peer);
  return std::hash<std::string>()(text) | 1;
}

PathCall StepOf(Context& context, size_t process, size_t call) {
  const Call& c = context.call(process, call);
  return {c.call, context.Place(process, c.stack), ArgumentsOf(context, process, c)};
}

std::vector<PathCall> Path(Context& context, const Member& member, size_t from) {
  std::vector<PathCall> path;
  for (size_t seq = from; seq < member.calls.size(); ++seq) {
    size_t call = member.calls[seq];
    if (call == kNoIndex) return path;  // lost: what follows cannot be placed
    path.push_back(StepOf(context, member.process, call));
  }
  return path;
}

// Are all its calls in the trace, from `from` to `at`?
bool IsKnownUntil(const Member& member, size_t from, size_t at) {
  for (size_t seq = from; seq <= at; ++seq)
    if (member.At(seq) == kNoIndex) return false;
  return true;
}

const Member* MemberOfRank(const Context& context, const CommGroup& group, int32_t rank) {
  for (const Member& member : group.members)
    if (context.rank(member.process) == rank) return &member;
  return nullptr;
}

bool Has(const std::vector<int32_t>& ranks, int32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Any member that is not blamed stands for the rest; the longest path says most. Where two ranks disagree, neither is
// the majority and each stands for the other.
const Member* Reference(const Context& context, const CommGroup& group, const std::vector<int32_t>& culprits) {
  const Member* best = nullptr;
  for (const Member& member : group.members)
    if (!Has(culprits, context.rank(member.process)) && (!best || member.calls.size() > best->calls.size()))
      best = &member;
  return !best && culprits.size() == 2 ? MemberOfRank(context, group, culprits[1]) : best;
}

// Who went which way where two members parted.
struct Parting {
  const Member *left, *right;                  // the two
  std::vector<int32_t> went_left, went_right;  // world ranks, ascending
  size_t unknown = 0;                          // members that were not traced or not seen that far yet
  Shift shift;                                 // of `left` against `right`

  bool tie() const { return went_left.size() == went_right.size(); }
  void Turn() {
    std::swap(left, right);
    std::swap(went_left, went_right);
    shift.in_longer = !shift.in_longer;
  }
};

Parting VoteAt(Context& context, const CommGroup& group, const Member& left, const Member& right, const Shift& shift,
               size_t from) {
  Parting parting{&left, &right, {}, {}, group.size - std::min<size_t>(group.size, group.members.size()), shift};
  PathCall to_left = StepOf(context, left.process, left.At(shift.at));
  PathCall to_right = StepOf(context, right.process, right.At(shift.at));
  for (const Member& member : group.members) {
    if (!IsKnownUntil(member, from, shift.at)) {
      ++parting.unknown;
      continue;
    }
    PathCall step = StepOf(context, member.process, member.At(shift.at));
    auto is = [&](const PathCall& other) {
      return step.call == other.call && step.site == other.site && step.arguments == other.arguments;
    };
    if (is(to_left))
      parting.went_left.push_back(context.rank(member.process));
    else if (is(to_right))
      parting.went_right.push_back(context.rank(member.process));
  }
  return parting;
}

std::string PlaceOr(const std::string& line) { return line.empty() ? "an unknown place" : line; }

// The finding, moved to the place of parting; `left` are those who left the path, or on a tie made more calls.
void Move(Context& context, const Parting& parting, Finding* finding) {
  const Shift& shift = parting.shift;
  size_t own = parting.left->At(shift.at), theirs = parting.right->At(shift.at);
  size_t process = parting.left->process, peer = parting.right->process;
  std::string name = CallName(context.process(process), context.call(process, own));
  std::string peer_name = CallName(context.process(peer), context.call(peer, theirs));
  bool same_call = context.call(process, own).call == context.call(peer, theirs).call;
  auto [line, peer_line] = context.Lines(process, own, peer, theirs);
  finding->evidence.insert(finding->evidence.begin(), "what came of it: " + finding->summary);
  finding->first = context.Event(process, own);
  // From one line, a loop over buckets for one: the arguments tell which of its turns was left out or is one too many.
  bool by_arguments = same_call && line == peer_line;
  finding->first.field = same_call && !by_arguments ? "call site" : "call";
  finding->first.actual = by_arguments ? context.Describe(process, own) : same_call ? line : name;
  finding->first.expected = by_arguments ? context.Describe(peer, theirs) : same_call ? peer_line : peer_name;
  finding->kind = by_arguments ? shift.in_longer ? "collective_mismatch" : "missing_collective"
                  : same_call  ? "callsite_mismatch"
                               : "collective_mismatch";
  if (by_arguments) peer_name = context.Describe(peer, theirs);
  finding->failure_class.clear();
  finding->proof = Proof::kMismatch;
  finding->culprit_ranks = parting.went_left;
  std::string calls = fmt::format("{} collective{}", shift.length, shift.length == 1 ? "" : "s");
  std::string where = fmt::format(
      "{} called {} from {}, where {} called {} from {}", RankList(parting.went_left), context.Describe(process, own),
      PlaceOr(line), parting.tie() ? RankList(parting.went_right) : "its peers", peer_name, PlaceOr(peer_line));
  if (parting.tie()) {
    finding->culprit_ranks.insert(finding->culprit_ranks.end(), parting.went_right.begin(), parting.went_right.end());
    std::sort(finding->culprit_ranks.begin(), finding->culprit_ranks.end());
    finding->summary = fmt::format("{}: either {} made {} too many from there on, or {} left as many out.", where,
                                   RankList(parting.went_left), calls, RankList(parting.went_right));
    finding->confidence = std::min(finding->confidence, 0.7);
    return;
  }
  finding->summary =
      fmt::format("{}: it made {} {} than they did from there on.", where, calls, shift.in_longer ? "more" : "fewer");
  if (same_call && shift.length > 1) finding->confidence = std::min(finding->confidence, 0.9);
  if (parting.went_right.size() <= parting.went_left.size() + parting.unknown) {
    finding->confidence = std::min(finding->confidence, 0.7);
    finding->evidence.push_back(fmt::format(
        "{} of the communicator's {} members {} not known that far", parting.unknown,
        parting.unknown + parting.went_left.size() + parting.went_right.size(), parting.unknown == 1 ? "is" : "are"));
  }
}

}  // namespace

void ExplainByShift(Context& context, const CommGroup& group, size_t seq, Finding* finding) {
  const Member* reference = Reference(context, group, finding->culprit_ranks);
  const Member* culprit =
      finding->culprit_ranks.empty() ? nullptr : MemberOfRank(context, group, finding->culprit_ranks[0]);
  if (!reference || !culprit) return;
  size_t from = FirstKnown(group);
  Shift shift = FindShift(Path(context, *culprit, from), Path(context, *reference, from));
  shift.at += from;
  if (!shift.found || shift.at > seq) return;
  if (culprit->At(shift.at) == kNoIndex || reference->At(shift.at) == kNoIndex) return;
  Parting parting = VoteAt(context, group, *culprit, *reference, shift, from);
  // Who is out of step now need not be who left the path: a rank that made one collective too many waits alone.
  if (parting.went_left.size() > parting.went_right.size() || (parting.tie() && !shift.in_longer)) parting.Turn();
  // One against one, and those who would decide it are not known yet: what shows now is all that is certain.
  if (parting.tie() && parting.unknown > 0) return;
  Move(context, parting, finding);
}

}  // namespace ddbg::analyzer
