// Rule 2: calls with one sequence number on one communicator that must agree and do not. Only the first on each
// communicator counts: what follows is its consequence.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/context/context.h"
#include "analyzer/find/divergence.h"
#include "analyzer/find/signature.h"
#include "analyzer/find/tie.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

// Members with another value than most. On a tie of all `members` of a communicator all are listed, but where one
// defines what is right (`decisive`, the root of a broadcast) its value is the reference. While a vote is missing it
// may be the one that shows the root to be wrong.
Split Compare(const std::vector<Vote>& votes, size_t members, size_t decisive) {
  std::map<std::string, size_t> count;
  for (const Vote& vote : votes) ++count[vote.value];
  Split split;
  if (count.size() < 2) return split;
  size_t most = 0, holders = 0;
  for (const auto& [value, n] : count) most = std::max(most, n);
  for (const auto& [value, n] : count)
    if (n == most) split.reference = value, ++holders;
  split.tie = holders > 1;
  if (split.tie && votes.size() >= members)
    for (const Vote& vote : votes)
      if (vote.member == decisive) split.reference = vote.value, split.tie = false;
  for (const Vote& vote : votes)
    if (split.tie || vote.value != split.reference) split.minority.push_back(vote.member);
  if (split.tie) split.reference.clear();
  return split;
}

class MismatchRule {
 public:
  explicit MismatchRule(Context& context) : context_(context), last_type_(context.run.processes.size()) {}

  std::vector<Finding> Find() {
    const std::vector<CommGroup>& groups = context_.matching.groups;
    for (size_t g = 0; g < groups.size(); ++g) {
      said_same_bytes_ = false;
      // Where some members replay a graph and others do not, the n-th call of one is no longer the n-th of another.
      size_t end = std::min(groups[g].longest, context_.replay.undecided_from[g]);
      std::vector<bool> suspect = Suspects(groups[g]);
      for (size_t seq = groups[g].first; seq < end; ++seq)
        if (suspect[seq - groups[g].first] && CompareAt(groups[g], seq)) break;
    }
    return std::move(findings_);
  }

 private:
  const Call& At(const CommGroup& group, size_t member, size_t seq) const {
    const Member& m = group.members[member];
    return context_.call(m.process, m.At(seq));
  }

  // Sequence numbers, from the group's first, at which not all members make one call with the same numbers. Member by
  // member, so that each one's calls are read in the order in which they lie.
  std::vector<bool> Suspects(const CommGroup& group) {
    struct First {
      const Call* call = nullptr;
      const Datatype* type = nullptr;
    };
    std::vector<First> firsts(group.longest - group.first);
    std::vector<bool> suspect(firsts.size(), false);
    for (const Member& member : group.members) {
      const Process& process = context_.process(member.process);
      for (size_t seq = std::max(group.first, member.calls.first()); seq < member.calls.size(); ++seq) {
        size_t index = member.At(seq), i = seq - group.first;
        if (index == kNoIndex || suspect[i]) continue;
        const Call& call = process.calls[index];
        const Datatype* type = call.dtype == 0 ? nullptr : TypeOf(member.process, process, call.dtype);
        First& first = firsts[i];
        if (!first.call) first = {&call, type};
        suspect[i] = !call.known() || Compares(call) == Comparison::kByEach || (call.dtype != 0 && !type) ||
                     !HaveSameNumbers(call, type, *first.call, first.type);
      }
    }
    return suspect;
  }

  // Types are each process's own.
  static bool HaveSameNumbers(const Call& a, const Datatype* type_a, const Call& b, const Datatype* type_b) {
    if (a.call != b.call || a.op != b.op || a.count != b.count || a.peer != b.peer || !type_a != !type_b) return false;
    return !type_a || (type_a->name == type_b->name && type_a->size == type_b->size && type_a->base == type_b->base &&
                       type_a->elements == type_b->elements && type_a->signature == type_b->signature);
  }

  enum class Comparison { kByNumbers, kByEach };

  // Where the root's side counts, or each member's receive side, the numbers of the record are not all.
  static Comparison Compares(const Call& call) {
    switch (call.info().shape) {
      case CallShape::Barrier:
      case CallShape::Bcast:
      case CallShape::Reduce:
      case CallShape::Allreduce:
      case CallShape::Same:
      case CallShape::SameRoot:
      case CallShape::Create: return Comparison::kByNumbers;
      default: return Comparison::kByEach;
    }
  }

  // The last type of each process: programs use the same one again and again.
  const Datatype* TypeOf(size_t index, const Process& process, uint32_t id) {
    LastType& last = last_type_[index];
    if (last.id != id) {
      auto found = process.dtypes.find(id);
      last = {id, found == process.dtypes.end() ? nullptr : &found->second};
    }
    return last.type;
  }

  bool CompareAt(const CommGroup& group, size_t seq) {
    std::vector<size_t> present;
    for (size_t m = 0; m < group.members.size(); ++m)
      if (group.members[m].At(seq) != kNoIndex && At(group, m, seq).known()) present.push_back(m);
    if (present.size() < 2) return false;
    return CompareField(group, seq, present, "call", [&](size_t m) { return NameOf(group, m, seq); }) ||
           CompareRoot(group, seq, present) || CompareOp(group, seq, present) || CompareData(group, seq, present);
  }

  std::string NameOf(const CommGroup& group, size_t member, size_t seq) const {
    return std::string(MatchName(At(group, member, seq)));
  }

  template <class Value>
  bool CompareField(const CommGroup& group, size_t seq, const std::vector<size_t>& present, const std::string& field,
                    Value value, size_t decisive = kNoIndex) {
    std::vector<Vote> votes;
    for (size_t m : present) {
      std::string text = value(m);
      if (!text.empty()) votes.push_back({m, text});
    }
    Split split = Compare(votes, group.size, decisive);
    if (split.minority.empty()) return false;
    if (split.tie) BreakTie(context_, group, seq, field, votes, &split);
    std::map<size_t, std::string> values;
    for (const Vote& vote : votes) values[vote.member] = vote.value;
    Report(group, seq, field, split, values);
    return true;
  }

  bool CompareRoot(const CommGroup& group, size_t seq, const std::vector<size_t>& present) {
    CallShape shape = At(group, present[0], seq).info().shape;
    bool rooted =
        shape == CallShape::Bcast || shape == CallShape::Reduce || shape == CallShape::Gather ||
        shape == CallShape::Scatter || shape == CallShape::VaryRooted ||
        ((shape == CallShape::Same || shape == CallShape::SameRoot) && FieldsOf(At(group, present[0], seq)).root);
    // On an inter-communicator root means another thing on each side.
    if (!rooted || group.inter) return false;
    return CompareField(group, seq, present, "root", [&](size_t m) { return std::to_string(At(group, m, seq).peer); });
  }

  bool CompareOp(const CommGroup& group, size_t seq, const std::vector<size_t>& present) {
    return CompareField(group, seq, present, "op", [&](size_t m) {
      const Call& call = At(group, m, seq);
      return call.info().kind == CallKind::Start ? "" : std::string(OpName(call));
    });
  }

  bool CompareData(const CommGroup& group, size_t seq, const std::vector<size_t>& present) {
    if (group.inter) return false;
    size_t decisive = kNoIndex;
    CallShape shape = At(group, present[0], seq).info().shape;
    std::map<size_t, Amount> amounts;
    for (size_t m : present) {
      const Member& member = group.members[m];
      bool is_root = At(group, m, seq).peer == member.comm_rank;
      if (is_root && (shape == CallShape::Bcast || shape == CallShape::Scatter || shape == CallShape::SameRoot))
        decisive = m;
      amounts[m] = AmountOf(context_.process(member.process), At(group, m, seq), is_root);
    }
    if (SameAmounts(amounts)) return false;
    std::string field = "count";
    std::set<std::string> types, counts;
    for (const auto& [m, amount] : amounts)
      if (amount.known) types.insert(amount.type), counts.insert(amount.count);
    if (counts.size() < 2)
      field = "datatype";
    else if (types.size() > 1)
      field = "count and datatype";
    bool movement = group.nccl && !FieldsOf(At(group, present[0], seq)).op;
    same_bytes_ = movement && SameBytes(amounts);
    if (same_bytes_ && said_same_bytes_) return false;
    bool differs = CompareField(
        group, seq, present, field,
        [&](size_t m) {
          const Amount& amount = amounts[m];
          if (!amount.known) return std::string();
          if (field == "count") return amount.count;
          if (field == "datatype") return amount.type;
          return amount.count + " × " + amount.type;
        },
        decisive);
    said_same_bytes_ = said_same_bytes_ || same_bytes_;
    return differs && !std::exchange(same_bytes_, false);
  }

  static bool SameBytes(const std::map<size_t, Amount>& amounts) {
    std::set<uint64_t> bytes;
    for (const auto& [m, amount] : amounts)
      if (amount.known) bytes.insert(amount.bytes);
    return bytes.size() == 1;
  }

  static bool SameAmounts(const std::map<size_t, Amount>& amounts) {
    const Amount* first = nullptr;
    for (const auto& [m, amount] : amounts) {
      if (!amount.known) continue;
      if (!first)
        first = &amount;
      else if (!first->Matches(amount))
        return false;
    }
    return true;
  }

  void Report(const CommGroup& group, size_t seq, const std::string& field, const Split& split,
              const std::map<size_t, std::string>& values) {
    Finding finding;
    finding.kind = field == "call" ? "collective_mismatch" : "argument_mismatch";
    // A wrong root stops the job; a wrong size, type or operator lets it go on with wrong data.
    if (field != "call" && field != "root") finding.failure_class = "state_corruption";
    finding.proof = Proof::kMismatch;
    std::vector<int32_t> others;
    for (const auto& [m, value] : values) {
      bool is_culprit = std::binary_search(split.minority.begin(), split.minority.end(), m);
      (is_culprit ? finding.culprit_ranks : others).push_back(context_.rank(group.members[m].process));
    }
    size_t first = split.minority[0];
    const Member& member = group.members[first];
    finding.first = context_.Event(member.process, member.At(seq));
    finding.first.field = field;
    finding.first.actual = values.at(first);
    finding.first.expected = split.tie ? values.at(OtherValue(values, values.at(first))) : split.reference;
    std::string line = context_.Line(member.process, member.At(seq));
    finding.summary =
        fmt::format("{} called {}{}, where {} {}.", RankList(finding.culprit_ranks),
                    context_.Describe(member.process, member.At(seq)), line.empty() ? "" : " at " + line,
                    split.tie ? "the two sides give" : RankList(others) + (others.size() == 1 ? " has" : " have"),
                    split.tie ? Sides(values, field) : field + " " + split.reference);
    for (const auto& [m, value] : values) {
      const Member& each = group.members[m];
      std::string where = context_.Line(each.process, each.At(seq));
      finding.evidence.push_back(fmt::format("rank {}: {}{}", context_.rank(each.process),
                                             context_.Describe(each.process, each.At(seq)),
                                             where.empty() ? "" : " at " + where));
    }
    if (split.tie) finding.confidence = 0.8;
    std::vector<int32_t>& culprits = finding.culprit_ranks;
    culprits.erase(std::unique(culprits.begin(), culprits.end()), culprits.end());
    if (same_bytes_) return ReportSameBytes(std::move(finding));
    if (group.nccl && field == "count") ExplainDrop(group, seq, values, &finding);
    ExplainByShift(context_, group, seq, &finding);
    findings_.push_back(std::move(finding));
  }

  // NCCL moves bytes: other types of as many bytes arrive whole, and may still be read as what they are not.
  void ReportSameBytes(Finding finding) {
    finding.proof = Proof::kState;
    finding.confidence = 0.5;
    finding.summary +=
        " The bytes are as many, so that the call itself goes through; whether they are read as what they "
        "were written as is for the program to know.";
    findings_.push_back(std::move(finding));
  }

  void ExplainDrop(const CommGroup& group, size_t seq, const std::map<size_t, std::string>& values, Finding* finding) {
    std::vector<int32_t> dropped;
    for (const auto& [m, value] : values)
      if (IsDropped(At(group, m, seq))) dropped.push_back(context_.rank(group.members[m].process));
    if (dropped.empty()) return;
    finding->failure_class.clear();  // the others wait for it: this is no wrong data
    finding->summary += fmt::format(" NCCL drops a call without elements at once, so that {} {} no part in it.",
                                    RankList(dropped), dropped.size() == 1 ? "takes" : "take");
  }

  static size_t OtherValue(const std::map<size_t, std::string>& values, const std::string& own) {
    for (const auto& [m, value] : values)
      if (value != own) return m;
    return values.begin()->first;
  }

  static std::string Sides(const std::map<size_t, std::string>& values, const std::string& field) {
    std::set<std::string> distinct;
    for (const auto& [m, value] : values) distinct.insert(value);
    std::string text;
    for (const std::string& value : distinct) text += (text.empty() ? field + " " : " and ") + value;
    return text;
  }

  struct LastType {
    uint32_t id = 0;
    const Datatype* type = nullptr;
  };

  Context& context_;
  std::vector<LastType> last_type_;
  std::vector<Finding> findings_;
  // Data of one size and several types, in a call that only moves it; and whether that was told of this communicator.
  bool same_bytes_ = false, said_same_bytes_ = false;
};

}  // namespace

std::vector<Finding> FindMismatches(Context& context) { return MismatchRule(context).Find(); }

}  // namespace ddbg::analyzer
