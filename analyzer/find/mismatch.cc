// Rule 2: calls with one sequence number on one communicator that must agree and do not. Only the first on each
// communicator counts: what follows is its consequence.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/comm_name.h"
#include "analyzer/context.h"
#include "analyzer/describe.h"
#include "analyzer/find/divergence.h"
#include "analyzer/find/signature.h"

namespace ddbg::analyzer {
namespace {

struct Vote {
  size_t member;
  std::string value;
};

struct Split {
  std::string reference;  // majority's value; "" on a tie
  std::vector<size_t> minority;
  bool tie = false;
};

// Members with another value than most. On a tie all are listed, but where one member defines what is right
// (`decisive`, the root of a broadcast) its value is the reference.
Split Compare(const std::vector<Vote>& votes, size_t decisive) {
  std::map<std::string, size_t> count;
  for (const Vote& vote : votes) ++count[vote.value];
  Split split;
  if (count.size() < 2) return split;
  size_t most = 0, holders = 0;
  for (const auto& [value, n] : count) most = std::max(most, n);
  for (const auto& [value, n] : count)
    if (n == most) split.reference = value, ++holders;
  split.tie = holders > 1;
  if (split.tie)
    for (const Vote& vote : votes)
      if (vote.member == decisive) split.reference = vote.value, split.tie = false;
  for (const Vote& vote : votes)
    if (split.tie || vote.value != split.reference) split.minority.push_back(vote.member);
  if (split.tie) split.reference.clear();
  return split;
}

class MismatchRule {
 public:
  explicit MismatchRule(Context& context) : context_(context) {}

  std::vector<Finding> Find() {
    for (const CommGroup& group : context_.matching.groups)
      for (size_t seq = 0; seq < group.longest; ++seq)
        if (CompareAt(group, seq)) break;
    return std::move(findings_);
  }

 private:
  const Call& At(const CommGroup& group, size_t member, size_t seq) const {
    const Member& m = group.members[member];
    return context_.call(m.process, m.At(seq));
  }

  bool CompareAt(const CommGroup& group, size_t seq) {
    std::vector<size_t> present;
    for (size_t m = 0; m < group.members.size(); ++m)
      if (group.members[m].At(seq) != kNoIndex && At(group, m, seq).known()) present.push_back(m);
    if (present.size() < 2) return false;
    return CompareField(
               group, seq, present, "call",
               [&](size_t m) { return CallName(context_.process(group.members[m].process), At(group, m, seq)); }) ||
           CompareRoot(group, seq, present) || CompareOp(group, seq, present) || CompareData(group, seq, present);
  }

  template <class Value>
  bool CompareField(const CommGroup& group, size_t seq, const std::vector<size_t>& present, const std::string& field,
                    Value value, size_t decisive = kNoIndex) {
    std::vector<Vote> votes;
    for (size_t m : present) {
      std::string text = value(m);
      if (!text.empty()) votes.push_back({m, text});
    }
    Split split = Compare(votes, decisive);
    if (split.minority.empty()) return false;
    std::map<size_t, std::string> values;
    for (const Vote& vote : votes) values[vote.member] = vote.value;
    Report(group, seq, field, split, values);
    return true;
  }

  bool CompareRoot(const CommGroup& group, size_t seq, const std::vector<size_t>& present) {
    CallShape shape = At(group, present[0], seq).info().shape;
    bool rooted = shape == CallShape::Bcast || shape == CallShape::Reduce || shape == CallShape::Gather ||
                  shape == CallShape::Scatter || shape == CallShape::VaryRooted;
    // On an inter-communicator root means another thing on each side.
    if (!rooted || group.inter) return false;
    return CompareField(group, seq, present, "root", [&](size_t m) { return std::to_string(At(group, m, seq).peer); });
  }

  bool CompareOp(const CommGroup& group, size_t seq, const std::vector<size_t>& present) {
    return CompareField(group, seq, present, "op", [&](size_t m) {
      const Call& call = At(group, m, seq);
      return std::string(OpName(call.op));
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
      if (is_root && (shape == CallShape::Bcast || shape == CallShape::Scatter)) decisive = m;
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
    return CompareField(
        group, seq, present, field,
        [&](size_t m) {
          const Amount& amount = amounts[m];
          if (!amount.known) return std::string();
          if (field == "count") return amount.count;
          if (field == "datatype") return amount.type;
          return amount.count + " × " + amount.type;
        },
        decisive);
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
      bool is_culprit = std::find(split.minority.begin(), split.minority.end(), m) != split.minority.end();
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
    ExplainByShift(context_, group, seq, &finding);
    findings_.push_back(std::move(finding));
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

  Context& context_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> FindMismatches(Context& context) { return MismatchRule(context).Find(); }

}  // namespace ddbg::analyzer
