#include "analyzer/load/comm_sides.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/load/told.h"

namespace ddbg::analyzer {
namespace {

// Of a process, one of its communicators.
struct Use {
  Process* process;
  Communicator* comm;
};

bool HasGaps(const Communicator& comm) {
  return std::any_of(comm.members.begin(), comm.members.end(), [](int32_t member) { return member < 0; });
}

// Who is in it, by what each knows: itself at least.
void FillGaps(const std::vector<Use>& uses) {
  std::vector<int32_t> all(uses[0].comm->members.size(), -1);
  for (const Use& use : uses) {
    const std::vector<int32_t>& members = use.comm->members;
    for (size_t i = 0; i < std::min(all.size(), members.size()); ++i)
      if (members[i] >= 0) all[i] = members[i];
    if (use.comm->rank >= 0 && static_cast<size_t>(use.comm->rank) < all.size() && use.process->rank() >= 0)
      all[static_cast<size_t>(use.comm->rank)] = use.process->rank();
  }
  for (const Use& use : uses)
    if (HasGaps(*use.comm)) KeepTold(use.process, *use.comm), use.comm->members = all;
}

// The side of the lowest rank comes first.
void JoinTwo(const std::vector<Use>& uses) {
  std::vector<std::vector<int32_t>> sides;
  for (const Use& use : uses) {
    const std::vector<int32_t>& members = use.comm->members;
    if (members.size() != use.comm->size || HasGaps(*use.comm)) return;
    if (std::find(sides.begin(), sides.end(), members) == sides.end()) sides.push_back(members);
    if (sides.size() > 2) return;
  }
  if (sides.size() != 2) return;
  auto lowest = [](const std::vector<int32_t>& side) { return *std::min_element(side.begin(), side.end()); };
  if (lowest(sides[1]) < lowest(sides[0])) std::swap(sides[0], sides[1]);
  std::vector<int32_t> both = sides[0];
  both.insert(both.end(), sides[1].begin(), sides[1].end());
  auto first = static_cast<int32_t>(sides[0].size());
  for (const Use& use : uses) {
    KeepTold(use.process, *use.comm);
    bool is_first = use.comm->members == sides[0];
    use.comm->peer_base = is_first ? first : 0;
    if (!is_first && use.comm->rank >= 0) use.comm->rank += first;
    use.comm->members = both;
  }
}

}  // namespace

void JoinSides(Run* run) {
  std::map<uint64_t, std::vector<Use>> unclear;  // by uid
  for (Process& process : run->processes)
    for (auto& [id, comm] : process.comms)
      if (comm.uid && !comm.nccl && !comm.members.empty() && (comm.remote_size > 0 || HasGaps(comm)))
        unclear[comm.uid].push_back({&process, &comm});
  for (auto& [uid, uses] : unclear) uses[0].comm->remote_size > 0 ? JoinTwo(uses) : FillGaps(uses);
}

}  // namespace ddbg::analyzer
