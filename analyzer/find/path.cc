#include "analyzer/find/path.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

// Steps that must repeat for an earlier turn of a loop to be taken as the model of what comes.
constexpr size_t kContext = 3;
constexpr size_t kMaxContext = 256;
constexpr size_t kMaxAlike = 4;

// Count, type, operator and root of calls in which they are equal on all members of a right program.
uint64_t ArgumentsOf(const Process& process, const Call& call) {
  CallShape shape = call.info().shape;
  bool same = shape == CallShape::Same || shape == CallShape::SameRoot || shape == CallShape::Bcast ||
              shape == CallShape::Reduce || shape == CallShape::Allreduce;
  if (!same) return 0;
  auto type = process.dtypes.find(call.dtype);
  uint64_t unit = type == process.dtypes.end() ? call.dtype : type->second.signature;
  uint64_t hash = call.count * 0x9e3779b97f4a7c15ULL ^ unit;
  return (hash ^ (uint64_t{call.op} << 40) ^ (static_cast<uint64_t>(call.peer + 2) << 48)) | 1;
}

bool IsMessage(CallKind kind) {
  return kind == CallKind::Send || kind == CallKind::Recv || kind == CallKind::Sendrecv || kind == CallKind::Mrecv ||
         kind == CallKind::Start;
}

bool OnPath(const Call& call, bool messages) {
  if (!call.known() || (call.flags & kFlagSecondHalf) != 0 || call.comm == 0) return false;
  return IsCollective(call) || (messages && IsMessage(call.info().kind));
}

constexpr size_t kMaxSteps = 64;  // that one side made more
constexpr size_t kCompared = 4;   // steps that must agree behind them, as far as there are any

bool Begins(const std::vector<PathStep>& a, size_t from_a, const std::vector<PathStep>& b, size_t from_b) {
  size_t compared = 0;
  for (; compared < kCompared && from_a + compared < a.size() && from_b + compared < b.size(); ++compared)
    if (!a[from_a + compared].Same(b[from_b + compared])) return false;
  return compared > 0;
}

// Is the call of that number missing from the trace? Of a running job the records of one thread may be there before
// those of another.
bool IsMissing(const Context& context, size_t process, const Call& next, size_t seq) {
  const CommGroup* group = context.matching.Group(UidOf(context.process(process), next));
  if (!group) return false;
  for (const Member& member : group->members)
    if (member.process == process && member.comm_id == next.comm) return member.At(seq) == kNoIndex;
  return false;
}

}  // namespace

Path PathOf(Context& context, size_t process, size_t from, bool messages,
            const std::unordered_set<uint32_t>& left_out) {
  Path path;
  path.process = process;
  const Process& p = context.process(process);
  uint32_t thread = 0;
  std::unordered_map<uint32_t, size_t> next_seq;  // by communicator
  for (size_t i = from; i < p.calls.size(); ++i) {
    const Call& call = p.calls[i];
    if (call.call == kCallLost) return {process, {}, {}, {}};
    if (!OnPath(call, messages) || left_out.count(call.comm)) continue;
    // PyTorch hands its calls of gloo to threads of its own in the order in which the program made them.
    bool in_order = call.info().api == Api::Gloo;
    if (!path.steps.empty() && call.thread != thread && !in_order) return {process, {}, {}, {}};
    thread = call.thread;
    if (CountsOnComm(call)) {
      auto [next, is_first] = next_seq.try_emplace(call.comm, call.seq);
      if (!is_first && call.seq > next->second && IsMissing(context, process, call, next->second)) break;
      next->second = std::max<size_t>(next->second, size_t{call.seq} + 1);
    }
    path.steps.push_back({i, call.call, context.Place(process, call.stack), ArgumentsOf(p, call)});
    path.sites.insert(path.steps.back().site);
    path.uses.insert(path.steps.back().Use());
  }
  return path;
}

size_t PartingOf(const Path& a, const Path& b) {
  size_t common = std::min(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < common; ++i) {
    const PathStep &x = a.steps[i], &y = b.steps[i];
    if (x.Same(y)) continue;
    bool by_role =
        x.function == y.function && (x.SamePlace(y) ? !a.Uses(y) || !b.Uses(x) : !a.Passes(y) && !b.Passes(x));
    if (!by_role) return i;
  }
  return kNoIndex;
}

Continuations Expected(const Path& path, size_t at, size_t length) {
  const std::vector<PathStep>& steps = path.steps;
  std::vector<PathStep> known(steps.begin() + static_cast<std::ptrdiff_t>(std::min(at, steps.size())),
                              steps.begin() + static_cast<std::ptrdiff_t>(std::min(at + length, steps.size())));
  size_t best = kContext;
  std::vector<size_t> alike;  // earlier steps up to which the path was the same as it is now
  for (size_t j = steps.empty() ? 0 : steps.size() - 1; j-- > 0;) {
    size_t same = 0;
    while (same <= j && same < kMaxContext && steps[j - same].Same(steps[steps.size() - 1 - same])) ++same;
    if (same < best) continue;
    if (same > best) alike.clear();
    best = same;
    if (alike.size() < kMaxAlike) alike.push_back(j);
  }
  Continuations continuations;
  for (size_t j : alike) {
    std::vector<PathStep> ahead = known;
    for (size_t i = j + 1; i < steps.size() && ahead.size() < length; ++i) ahead.push_back(steps[i]);
    continuations.push_back(std::move(ahead));
  }
  if (continuations.empty() && !known.empty()) continuations.push_back(std::move(known));
  return continuations;
}

namespace {

Turn CompareWith(const std::vector<PathStep>& own, size_t at, const std::vector<PathStep>& expected) {
  for (size_t k = 1; k <= kMaxSteps; ++k) {
    if (k < expected.size() && Begins(own, at, expected, k)) {
      bool later = false;
      for (size_t i = at + 1; i < own.size() && i <= at + k; ++i) later = later || own[i].Same(expected[0]);
      return {later ? How::kOtherOrder : How::kLeftOut, k, expected[0]};
    }
    if (at + k < own.size() && Begins(own, at + k, expected, 0)) return {How::kTooMany, k, expected[0]};
  }
  // The same call as one that was to come, from another line: made too early.
  for (size_t i = 1; i < std::min<size_t>(expected.size(), 4); ++i)
    if (own[at].function == expected[i].function && own[at].arguments == expected[i].arguments &&
        own[at].arguments != 0)
      return {How::kOtherOrder, i, expected[0]};
  return {How::kElsewhere, 0, expected[0]};
}

}  // namespace

Turn CompareWith(const std::vector<PathStep>& own, size_t at, const Continuations& expected) {
  Turn best;
  bool any = false;
  for (const std::vector<PathStep>& each : expected) {
    if (each.empty()) continue;
    Turn turn = CompareWith(own, at, each);
    bool better = !any || (best.how == How::kElsewhere && turn.how != How::kElsewhere) ||
                  (turn.how != How::kElsewhere && turn.length < best.length);
    if (better) best = turn;
    any = true;
  }
  return best;
}

}  // namespace ddbg::analyzer
