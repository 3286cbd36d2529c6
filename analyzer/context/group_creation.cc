#include "analyzer/context/group_creation.h"

#include <algorithm>

namespace ddbg::analyzer {

std::vector<int32_t> GroupOf(const Process& process, const Call& call) {
  auto made = process.comms.find(static_cast<uint32_t>(call.aux));
  if (call.aux == 0 || made == process.comms.end()) return {};
  std::vector<int32_t> members = made->second.members;
  std::sort(members.begin(), members.end());
  return members;
}

namespace {

// How many calls like that one the process has made, until `end`.
size_t CallsLike(const Process& process, const Call& call, const std::vector<int32_t>& group, size_t end) {
  size_t count = 0;
  for (size_t i = 0; i < end; ++i) {
    const Call& other = process.calls[i];
    count += other.call == call.call && other.tag == call.tag && GroupOf(process, other) == group;
  }
  return count;
}

}  // namespace

std::vector<size_t> MembersNotCome(const Context& context, size_t process, size_t call) {
  const Call& open = context.call(process, call);
  std::vector<int32_t> group = GroupOf(context.process(process), open);
  size_t own = CallsLike(context.process(process), open, group, call + 1);
  std::vector<size_t> missing;
  for (int32_t rank : group) {
    size_t member = context.ProcessOfRank(rank);
    if (member == kNoIndex || member == process) continue;
    const Process& other = context.process(member);
    if (other.lost_total() > 0) continue;
    if (CallsLike(other, open, group, other.calls.size()) < own) missing.push_back(member);
  }
  return missing;
}

}  // namespace ddbg::analyzer
