#include "analyzer/match.h"

#include <algorithm>

#include "analyzer/comm_name.h"

namespace ddbg::analyzer {
namespace {

// A sequence number far beyond what was recorded is damage, not a job.
constexpr size_t kMaxSeqGap = 100'000'000;

bool CountsOnComm(const Call& call) {
  return call.known() && IsCollective(call.info().kind) && call.info().shape != CallShape::CreateGroup &&
         call.comm != 0;
}

Member& MemberOf(CommGroup& group, size_t process, const Communicator& comm) {
  for (Member& member : group.members)
    if (member.process == process && member.comm_id == comm.id) return member;
  group.members.push_back({process, comm.id, comm.rank, {}});
  return group.members.back();
}

CommGroup& GroupOf(Matching& matching, const Process& process, const Communicator& comm) {
  auto [at, is_new] = matching.by_uid.try_emplace(comm.uid, matching.groups.size());
  if (is_new) {
    CommGroup group;
    group.uid = comm.uid;
    group.size = comm.size + comm.remote_size;
    group.inter = comm.remote_size > 0;
    group.nccl = comm.nccl;
    group.name = CommName(process, comm.id);
    matching.groups.push_back(std::move(group));
  }
  return matching.groups[at->second];
}

void AddProcess(const Run& run, size_t index, Matching& matching) {
  const Process& process = run.processes[index];
  // Members exist from a communicator's creation on, also those that never used it.
  std::map<uint32_t, std::pair<size_t, size_t>> places;  // comm id → group, member
  std::vector<uint32_t> ids;
  for (const auto& [id, comm] : process.comms)
    if (comm.uid && comm.size > 1 - (comm.remote_size > 0)) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (uint32_t id : ids) {
    CommGroup& group = GroupOf(matching, process, process.comms.at(id));
    Member& member = MemberOf(group, index, process.comms.at(id));
    places[id] = {static_cast<size_t>(&group - matching.groups.data()),
                  static_cast<size_t>(&member - group.members.data())};
  }
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!CountsOnComm(call) || (call.flags & kFlagSecondHalf)) continue;
    auto place = places.find(call.comm);
    if (place == places.end()) continue;
    CommGroup& group = matching.groups[place->second.first];
    std::vector<size_t>& calls = group.members[place->second.second].calls;
    if (call.seq > calls.size() + kMaxSeqGap) continue;
    if (call.seq >= calls.size()) calls.resize(call.seq + 1, kNoIndex);
    calls[call.seq] = i;
    group.longest = std::max<size_t>(group.longest, call.seq + 1);
  }
}

}  // namespace

Matching MatchCollectives(const Run& run) {
  Matching matching;
  for (size_t i = 0; i < run.processes.size(); ++i) AddProcess(run, i, matching);
  for (CommGroup& group : matching.groups)
    std::sort(group.members.begin(), group.members.end(), [&](const Member& a, const Member& b) {
      int32_t rank_a = run.processes[a.process].rank(), rank_b = run.processes[b.process].rank();
      return rank_a != rank_b ? rank_a < rank_b : a.comm_rank < b.comm_rank;
    });
  return matching;
}

const Member* CommGroup::OfCommRank(int32_t comm_rank) const {
  for (const Member& member : members)
    if (member.comm_rank == comm_rank) return &member;
  return nullptr;
}

uint64_t UidOf(const Process& process, const Call& call) {
  auto comm = process.comms.find(call.comm);
  return comm == process.comms.end() ? 0 : comm->second.uid;
}

int32_t WorldRank(const Communicator& comm, int32_t comm_rank) {
  if (comm.remote_size > 0 || comm_rank < 0) return -1;
  if (static_cast<size_t>(comm_rank) < comm.members.size()) return comm.members[comm_rank];
  return comm.kind == "world" ? comm_rank : -1;
}

}  // namespace ddbg::analyzer
