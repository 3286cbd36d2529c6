#include "analyzer/context/arrivals.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

bool IsDeviceWait(const Call& call) {
  switch (call.info().kind) {
    case CallKind::StreamSync:
    case CallKind::EventSync:
    case CallKind::DeviceSync: return true;
    default: return call.info().shape == CallShape::Blocking;
  }
}

// Which streams have something of NCCL to do that nobody has waited for yet. A process has a handful of streams.
class PendingNccl {
 public:
  bool Any() const { return !streams_.empty(); }

  bool Affects(const Call& call) const {
    if (call.info().kind == CallKind::StreamSync && call.tag > 0)
      return std::find(streams_.begin(), streams_.end(), call.tag) != streams_.end();
    return Any();
  }

  void See(const Call& call) {
    CallKind kind = call.info().kind;
    if (IsStreamWork(call)) return Add(call.tag);
    // What follows waits for an event of a stream that is not told here: of any that has something to do.
    if (kind == CallKind::StreamWait && Any()) return Add(call.tag);
    if (call.open()) return;
    if (kind == CallKind::StreamSync)
      streams_.erase(std::remove(streams_.begin(), streams_.end(), call.tag), streams_.end());
    if (kind == CallKind::DeviceSync) streams_.clear();
  }

 private:
  void Add(int32_t stream) {
    if (std::find(streams_.begin(), streams_.end(), stream) == streams_.end()) streams_.push_back(stream);
  }
  std::vector<int32_t> streams_;
};

// Adds up own time along the calls of one process, over all its threads: while one of them is in a call that may wait,
// the process is taken to wait.
class Walk {
 public:
  // The time until this call begins.
  const OwnTime& Enter(const Call& call) {
    if (busy_until_ == 0) busy_until_ = call.start_ns;
    if (call.start_ns > busy_until_) {
      until_.host_ns += call.start_ns - busy_until_;
      busy_until_ = call.start_ns;
    }
    return until_;
  }

  void Leave(const Call& call) {
    bool waits = MayWaitForPeers(call, IsCuda(call) && pending_.Affects(call));
    pending_.See(call);
    if (call.open() || (IsCuda(call) && IsPoll(call))) return;
    int64_t end = call.start_ns + call.duration_ns;
    if (end <= busy_until_) return;
    if (!waits) until_.local_ns += end - busy_until_;
    busy_until_ = end;
  }

  // At a time between the last call that was entered and the next. What was in a call then counts at its end.
  OwnTime At(int64_t t_ns) const {
    OwnTime own = until_;
    if (busy_until_ != 0) own.host_ns += std::max<int64_t>(0, t_ns - busy_until_);
    return own;
  }

 private:
  OwnTime until_;
  int64_t busy_until_ = 0;
  PendingNccl pending_;
};

bool Counts(const Call& call) { return call.known() && !(call.flags & (kFlagSecondHalf | kFlagNested)); }

}  // namespace

bool MayWaitForPeers(const Call& call, bool pending_nccl) {
  if (IsCuda(call)) return pending_nccl && IsDeviceWait(call);
  CallKind kind = call.info().kind;
  return kind != CallKind::TypeCommit && kind != CallKind::FileAccess && kind != CallKind::FileDelete;
}

Arrivals::Arrivals(const Run& run, const Matching& matching) : run_(run), matching_(matching) {
  members_of_.resize(run.processes.size());
  until_.resize(matching.groups.size());
  for (size_t g = 0; g < matching.groups.size(); ++g) {
    const CommGroup& group = matching.groups[g];
    until_[g].resize(group.members.size());
    for (size_t m = 0; m < group.members.size(); ++m) {
      until_[g][m].resize(group.members[m].calls.size());
      members_of_[group.members[m].process].emplace_back(g, m);
    }
  }
  for (size_t i = 0; i < run.processes.size(); ++i) AddProcess(i);
}

void Arrivals::AddProcess(size_t index) {
  const Process& process = run_.processes[index];
  std::vector<std::vector<OwnTime>*> by_comm;  // ids of communicators are small numbers
  for (auto [g, m] : members_of_[index]) {
    uint32_t id = matching_.groups[g].members[m].comm_id;
    if (id >= by_comm.size() && id < 1u << 24) by_comm.resize(id + 1);
    if (id < by_comm.size()) by_comm[id] = &until_[g][m];
  }
  Walk walk;
  for (const Call& call : process.calls) {
    if (!Counts(call)) continue;
    const OwnTime& until = walk.Enter(call);
    if (IsCollective(call) && call.comm < by_comm.size() && by_comm[call.comm] && call.seq < by_comm[call.comm]->size())
      (*by_comm[call.comm])[call.seq] = until;
    walk.Leave(call);
  }
}

const OwnTime* Arrivals::Until(size_t group, size_t member, size_t seq) const {
  if (matching_.groups[group].members[member].At(seq) == kNoIndex) return nullptr;
  return &until_[group][member][seq];
}

std::optional<OwnTime> Arrivals::Before(size_t group, size_t member, size_t seq) const {
  const Member& of = matching_.groups[group].members[member];
  if (seq == 0 || of.At(seq) == kNoIndex || of.At(seq - 1) == kNoIndex) return std::nullopt;
  const Process& process = run_.processes[of.process];
  if (process.lost_total() > 0 || process.calls[of.At(seq - 1)].open()) return std::nullopt;
  OwnTime own = until_[group][member][seq] - until_[group][member][seq - 1];
  return own;
}

std::vector<OwnTime> OwnUntil(const Process& process, const std::vector<int64_t>& times_ns) {
  std::vector<OwnTime> own;
  Walk walk;
  for (const Call& call : process.calls) {
    if (own.size() == times_ns.size()) break;
    if (!Counts(call)) continue;
    while (own.size() < times_ns.size() && times_ns[own.size()] <= call.start_ns)
      own.push_back(walk.At(times_ns[own.size()]));
    walk.Enter(call);
    walk.Leave(call);
  }
  while (own.size() < times_ns.size()) own.push_back(walk.At(times_ns[own.size()]));
  return own;
}

std::optional<EntrySkew> SkewOf(const Run& run, const CommGroup& group, size_t seq, const Timeline& timeline) {
  if (group.members.size() < 2) return std::nullopt;
  EntrySkew skew;
  for (size_t m = 0; m < group.members.size(); ++m) {
    const Member& member = group.members[m];
    size_t call = member.At(seq);
    if (call == kNoIndex) return std::nullopt;
    int64_t entry = timeline.At(member.process, run.processes[member.process].calls[call].start_ns);
    if (m == 0 || entry < skew.first_ns) skew.first_ns = entry, skew.first_member = m;
    if (m == 0 || entry > skew.last_ns) skew.last_ns = entry, skew.last_member = m;
  }
  return skew;
}

}  // namespace ddbg::analyzer
