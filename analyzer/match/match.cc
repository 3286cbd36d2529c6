#include "analyzer/match/match.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"

namespace ddbg::analyzer {
namespace {

// A sequence number far beyond what was recorded is damage, not a job.
constexpr size_t kMaxSeqGap = 100'000'000;

// Processes are added one after the other: those of this one are last.
Member& MemberOf(CommGroup& group, size_t process, const Communicator& comm) {
  for (size_t i = group.members.size(); i-- > 0 && group.members[i].process == process;)
    if (group.members[i].comm_id == comm.id) return group.members[i];
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
    group.persistent = comm.kind == "persistent";
    group.name = CommName(process, comm.id);
    matching.groups.push_back(std::move(group));
  }
  return matching.groups[at->second];
}

void AddProcess(const Run& run, size_t index, Matching& matching) {
  const Process& process = run.processes[index];
  // Members exist from a communicator's creation on, also those that never used it.
  std::unordered_map<uint32_t, std::pair<size_t, size_t>> places;  // comm id → group, member
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
  SeqCalls* calls = nullptr;
  uint32_t of = 0;  // the communicator whose calls these are; 0: none yet
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!CountsOnComm(call) || (call.flags & kFlagNested)) continue;
    if (call.comm != of) {
      auto place = places.find(call.comm);
      of = call.comm;
      calls =
          place == places.end() ? nullptr : &matching.groups[place->second.first].members[place->second.second].calls;
    }
    if (!calls || (!calls->empty() && call.seq > calls->size() + kMaxSeqGap)) continue;
    calls->Set(call.seq, i);
  }
  // Of detail that was dropped the last number of each communicator is known.
  for (const CallSums& sums : process.dropped.sums) {
    Call call;
    call.call = sums.call;
    call.comm = sums.comm;
    auto place = places.find(sums.comm);
    if (place == places.end()) continue;
    // Sums do not tell what a start began: on a communicator of its own it is a collective.
    bool started =
        call.known() && call.info().kind == CallKind::Start && matching.groups[place->second.first].persistent;
    if (started || CountsOnComm(call))
      matching.groups[place->second.first].members[place->second.second].calls.Extend(size_t{sums.last_seq} + 1);
  }
}

// Of the first number in the trace: that of any member, since what one has left out shows in another.
void FindRange(CommGroup& group) {
  size_t first = kNoIndex;
  for (const Member& member : group.members) {
    group.longest = std::max(group.longest, member.calls.size());
    if (member.calls.first() < member.calls.size()) first = std::min(first, member.calls.first());
  }
  group.first = std::min(first, group.longest);
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
  for (CommGroup& group : matching.groups) FindRange(group);
  return matching;
}

void SeqCalls::Set(size_t seq, size_t call) {
  if (calls_.empty()) first_ = seq;
  if (seq < first_) {
    if (first_ - seq > kMaxSeqGap) return;
    calls_.insert(calls_.begin(), first_ - seq, kNone);
    first_ = seq;
  }
  if (seq - first_ >= calls_.size()) calls_.resize(seq - first_ + 1, kNone);
  calls_[seq - first_] = static_cast<uint32_t>(call);
  end_ = std::max(end_, seq + 1);
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
  if ((comm.remote_size > 0 && comm.peer_base < 0) || comm_rank < 0) return -1;
  if (static_cast<size_t>(comm_rank) < comm.members.size()) return comm.members[comm_rank];
  return comm.kind == "world" ? comm_rank : -1;
}

int32_t PeerIn(const Communicator& comm, int32_t peer) {
  if (comm.remote_size == 0 || peer < 0) return peer;
  return comm.peer_base < 0 ? kNoPeer : comm.peer_base + peer;
}

}  // namespace ddbg::analyzer
