#include "analyzer/find/tie.h"

#include <set>

#include "analyzer/find/signature.h"
#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kTurnsBack = 1000;  // collectives

bool Decide(const std::set<std::string>& seen, const std::vector<Vote>& votes, Split* split) {
  std::set<std::string> known;
  for (const Vote& vote : votes)
    if (seen.count(vote.value)) known.insert(vote.value);
  if (known.size() != 1) return false;
  split->tie = false;
  split->reference = *known.begin();
  split->minority.clear();
  for (const Vote& vote : votes)
    if (vote.value != split->reference) split->minority.push_back(vote.member);
  return true;
}

std::string ValueOf(const Context& context, const Member& member, size_t index, const std::string& field) {
  const Process& process = context.process(member.process);
  const Call& call = process.calls[index];
  if (!call.known()) return "";
  if (field == "call") return CallName(process, call);
  if (field == "root") return std::to_string(call.peer);
  if (field == "op") return std::string(OpName(call));
  Amount amount = AmountOf(process, call, call.peer == member.comm_rank);
  if (!amount.known) return "";
  return field == "count" ? amount.count : field == "datatype" ? amount.type : amount.count + " × " + amount.type;
}

const Communicator& CommOf(const Context& context, const Member& member) {
  return context.process(member.process).comms.at(member.comm_id);
}

std::set<std::string> ValuesBeside(const Context& context, const CommGroup& group, size_t seq,
                                   const std::string& field) {
  std::set<std::string> values;
  const Communicator& own = CommOf(context, group.members[0]);
  if (own.parent_uid == 0) return values;
  for (const CommGroup& other : context.matching.groups) {
    if (&other == &group || other.members.empty()) continue;
    const Communicator& comm = CommOf(context, other.members[0]);
    bool beside =
        comm.parent_uid == own.parent_uid && comm.creation_index == own.creation_index && comm.kind == own.kind;
    if (!beside) continue;
    for (const Member& member : other.members)
      if (member.At(seq) != kNoIndex) values.insert(ValueOf(context, member, member.At(seq), field));
  }
  return values;
}

std::set<std::string> ValuesBefore(Context& context, const CommGroup& group, size_t seq, const std::string& field) {
  std::set<std::string> values;
  for (const Member& member : group.members) {
    if (member.At(seq) == kNoIndex) continue;
    const Call& call = context.call(member.process, member.At(seq));
    uint64_t site = context.Place(member.process, call.stack);
    for (size_t before = seq > kTurnsBack ? seq - kTurnsBack : 0; before < seq && site != 0; ++before) {
      if (member.At(before) == kNoIndex) continue;
      const Call& earlier = context.call(member.process, member.At(before));
      if (earlier.call == call.call && context.Place(member.process, earlier.stack) == site)
        values.insert(ValueOf(context, member, member.At(before), field));
    }
  }
  return values;
}

}  // namespace

void BreakTie(Context& context, const CommGroup& group, size_t seq, const std::string& field,
              const std::vector<Vote>& votes, Split* split) {
  if (Decide(ValuesBeside(context, group, seq, field), votes, split) || field == "call") return;
  Decide(ValuesBefore(context, group, seq, field), votes, split);
}

}  // namespace ddbg::analyzer
