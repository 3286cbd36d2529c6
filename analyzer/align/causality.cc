#include "analyzer/align/causality.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "analyzer/model/call_fields.h"
#include "proto/operations.h"

namespace ddbg::analyzer {
namespace {

enum class Sync { kNone, kAll, kFromRoot, kToRoot };

// A member whose call moves nothing need not wait for anybody.
Sync SyncOfNccl(const Call& call) {
  if (call.count == 0) return Sync::kNone;
  std::string_view name = call.info().name;
  if (name == "ncclAllReduce" || name == "ncclAllGather" || name == "ncclReduceScatter" || name == "ncclAlltoAll")
    return Sync::kAll;
  if (name == "ncclBroadcast" || name == "ncclBcast" || name == "ncclScatter") return Sync::kFromRoot;
  if (name == "ncclReduce" || name == "ncclGather") return Sync::kToRoot;
  return Sync::kNone;
}

Sync SyncOfGloo(const Call& call) {
  std::string_view name = call.info().name;
  if (call.count == 0 && name != "gloo::barrier") return Sync::kNone;
  if (name == "gloo::allreduce" || name == "gloo::barrier" || name == "gloo::allgather" || name == "gloo::alltoall")
    return Sync::kAll;
  if (name == "gloo::broadcast" || name == "gloo::scatter") return Sync::kFromRoot;
  return name == "gloo::reduce" || name == "gloo::gather" ? Sync::kToRoot : Sync::kNone;
}

Sync SyncOfMpi(const Call& call) {
  std::string_view name = call.info().name;
  if (call.info().api == Api::Gloo) return SyncOfGloo(call);
  if (call.info().kind == CallKind::CollectiveInit) return Sync::kNone;
  switch (call.info().shape) {
    case CallShape::Barrier: return Sync::kAll;
    // New ranks follow from everybody's colour and key; a plain duplicate may be made without a word to the others.
    case CallShape::Create: return name == "MPI_Comm_split" ? Sync::kAll : Sync::kNone;
    case CallShape::Allreduce:  // and scans, which wait for lower ranks only
      if (name.ends_with("scan") || name.ends_with("scan_c")) return Sync::kNone;
      [[fallthrough]];
    case CallShape::Allgather:
    case CallShape::Alltoall: return call.count > 0 ? Sync::kAll : Sync::kNone;
    case CallShape::Bcast:
    case CallShape::Scatter: return call.count > 0 ? Sync::kFromRoot : Sync::kNone;
    case CallShape::Reduce:
    case CallShape::Gather: return call.count > 0 ? Sync::kToRoot : Sync::kNone;
    default: return Sync::kNone;
  }
}

Sync SyncOf(const Call& call) {
  if (!IsNccl(call)) return SyncOfMpi(call);
  if (call.info().kind == CallKind::CommCreate) {
    bool waits = call.info().shape == CallShape::Create && !(call.flags & kFlagGrouped);
    return waits ? Sync::kAll : Sync::kNone;
  }
  return call.flags & kFlagCapturing ? Sync::kNone : SyncOfNccl(call);
}

// Do two members speak of one and the same collective?
bool Agree(const Call& a, const Call& b) {
  if (!a.known() || !b.known() || MatchName(a) != MatchName(b)) return false;
  bool rooted = SyncOf(a) == Sync::kFromRoot || SyncOf(a) == Sync::kToRoot;
  return !rooted || a.peer == b.peer;
}

// The latest of `before` and the earliest of `after` of each host.
class Gatherer {
 public:
  explicit Gatherer(size_t hosts) : before_(hosts, INT64_MIN), after_(hosts, INT64_MAX) {}

  void Before(size_t host, int64_t t_ns) {
    Touch(host);
    before_[host] = std::max(before_[host], t_ns);
  }
  void After(size_t host, int64_t t_ns) {
    Touch(host);
    after_[host] = std::min(after_[host], t_ns);
  }

  // Into `crossing`; begins anew.
  void Take(Crossing* crossing) {
    crossing->before.clear();
    crossing->after.clear();
    for (uint32_t host : touched_) {
      if (before_[host] != INT64_MIN) crossing->before.push_back({host, before_[host]});
      if (after_[host] != INT64_MAX) crossing->after.push_back({host, after_[host]});
      before_[host] = INT64_MIN, after_[host] = INT64_MAX;
    }
    touched_.clear();
  }

 private:
  void Touch(size_t host) {
    if (before_[host] == INT64_MIN && after_[host] == INT64_MAX) touched_.push_back(static_cast<uint32_t>(host));
  }

  std::vector<int64_t> before_, after_;
  std::vector<uint32_t> touched_;
};

bool LostAny(const Process& process) { return process.lost_total() > 0 || !process.damage.empty(); }

// Two threads that send or receive under one tag: which was first is not told by when their calls began.
bool OneThread(const Run& run, const std::vector<End>& ends) {
  for (const End& end : ends)
    if (run.processes[end.process].calls[end.call].thread != run.processes[ends[0].process].calls[ends[0].call].thread)
      return false;
  return true;
}

}  // namespace

Causality::Causality(const Run& run, const Matching& matching, const Messages& messages,
                     std::span<const size_t> host_of, size_t hosts)
    : run_(run), matching_(matching), messages_(messages), host_of_(host_of), hosts_(hosts) {
  ends_.resize(run.processes.size());
  for (size_t i = 0; i < run.processes.size(); ++i) {
    FindEnds(i);
    FindStreamEnds(i);
    std::sort(ends_[i].begin(), ends_[i].end());  // of several ends the first
  }
}

// Operations that a wait, a test or a completion record says are over.
void Causality::FindEnds(size_t process) {
  const std::vector<Call>& calls = run_.processes[process].calls;
  const auto& posted = messages_.posted[process];
  if (posted.empty()) return;
  // An all-to-all of NCCL may have a completion a peer, and is over with the last.
  std::unordered_map<size_t, int64_t> last;
  for (const Call& call : calls) {
    const CallInfo* info = call.known() && !call.open() ? &call.info() : nullptr;
    if (!CompletesOperation(info, call.call, call.aux, call.flags) || call.open()) continue;
    if (call.flags & (kFlagFreed | kFlagCancelled)) continue;
    auto by = posted.find(call.aux);
    if (by == posted.end()) continue;
    bool nccl = IsNccl(calls[by->second]);
    if (nccl && call.peer < 0) continue;  // nothing bounds when that was
    int64_t end_ns = call.start_ns + call.duration_ns + (nccl ? call.peer : 0);
    if (nccl)
      last[by->second] = std::max(last.try_emplace(by->second, end_ns).first->second, end_ns);
    else
      ends_[process].emplace_back(by->second, end_ns);
  }
  for (const auto& [call, end_ns] : last) ends_[process].emplace_back(call, end_ns);
}

// Operations of NCCL that were on a stream when the program began to wait for it, and that wait returned.
void Causality::FindStreamEnds(size_t process) {
  const Process& p = run_.processes[process];
  std::unordered_map<int32_t, std::vector<size_t>> on_stream;
  std::unordered_map<uint32_t, std::vector<size_t>> in_group;  // by thread: begun only at the group's end
  std::unordered_map<size_t, int64_t> enqueued_ns;
  auto enqueue = [&](size_t index, int64_t t_ns) {
    enqueued_ns[index] = t_ns;
    on_stream[p.calls[index].tag].push_back(index);
  };
  auto finish = [&](std::vector<size_t>* pending, const Call& sync) {
    auto left = std::remove_if(pending->begin(), pending->end(), [&](size_t index) {
      if (enqueued_ns[index] > sync.start_ns) return false;
      ends_[process].emplace_back(index, sync.start_ns + sync.duration_ns);
      enqueued_ns.erase(index);
      return true;
    });
    pending->erase(left, pending->end());
  };
  for (size_t i = 0; i < p.calls.size(); ++i) {
    const Call& call = p.calls[i];
    if (!call.known() || call.open()) continue;
    if (IsStreamWork(call) && Accepted(call) && call.tag > 0) {
      auto comm = p.comms.find(call.comm);
      if (comm == p.comms.end() || !comm->second.blocking) continue;
      if (call.flags & kFlagGrouped)
        in_group[call.thread].push_back(i);
      else
        enqueue(i, call.start_ns + call.duration_ns);
    } else if (IsNccl(call) && call.info().kind == CallKind::GroupEnd && call.tag <= 1) {
      for (size_t index : in_group[call.thread])
        if (call.result == 0) enqueue(index, call.start_ns + call.duration_ns);
      in_group[call.thread].clear();
    } else if (IsCuda(call) && call.result == 0 && !(call.flags & (kFlagNothingDone | kFlagCapturing | kFlagNested))) {
      if (call.info().kind == CallKind::StreamSync && call.tag > 0) {
        auto stream = on_stream.find(call.tag);
        if (stream != on_stream.end()) finish(&stream->second, call);
      }
    }
  }
}

int64_t Causality::EndOf(size_t process, size_t index) const {
  const Call& call = run_.processes[process].calls[index];
  if (!Accepted(call)) return INT64_MAX;
  if (IsNccl(call) && !IsStreamWork(call) && call.result != 0) return INT64_MAX;  // goes on behind the call
  bool later = IsStreamWork(call) || (PostsOperation(call.info()) && !(call.flags & kFlagCompletedAtPost));
  if (!later) return call.open() ? INT64_MAX : call.start_ns + call.duration_ns;
  const Ends& ends = ends_[process];
  auto end = std::lower_bound(ends.begin(), ends.end(), std::make_pair(index, INT64_MIN));
  return end == ends.end() || end->first != index ? INT64_MAX : end->second;
}

void Causality::OfGroup(const CommGroup& group, const std::function<void(const Crossing&)>& look) const {
  auto elsewhere = [&](const Member& member) { return host_of_[member.process] != host_of_[group.members[0].process]; };
  if (group.inter || std::none_of(group.members.begin(), group.members.end(), elsewhere)) return;
  Gatherer gatherer(hosts_);
  Crossing crossing;
  for (size_t seq = 0; seq < group.longest; ++seq) {
    const Call* first = nullptr;
    for (const Member& member : group.members) {
      if (member.At(seq) == kNoIndex) continue;
      const Call& call = run_.processes[member.process].calls[member.At(seq)];
      if (!first) first = &call;
      // Whoever is out of step here stays so.
      if (!Agree(call, *first)) return;
      Sync sync = SyncOf(call);
      bool root = sync != Sync::kAll && member.comm_rank == call.peer;
      if (sync == Sync::kNone) continue;
      if (sync != Sync::kFromRoot || root) gatherer.Before(host_of_[member.process], call.start_ns);
      int64_t end_ns = EndOf(member.process, member.At(seq));
      bool waits = sync == Sync::kAll || root == (sync == Sync::kToRoot);
      if (waits && end_ns != INT64_MAX) gatherer.After(host_of_[member.process], end_ns);
    }
    gatherer.Take(&crossing);
    crossing.together = first && SyncOf(*first) == Sync::kAll;
    if (!crossing.before.empty() && !crossing.after.empty()) look(crossing);
  }
}

// Making a communicator of NCCL waits for all its ranks, where it waits at all.
void Causality::OfInits(const std::function<void(const Crossing&)>& look) const {
  std::map<std::pair<uint64_t, uint32_t>, std::vector<std::pair<size_t, size_t>>> meetings;
  for (size_t p = 0; p < run_.processes.size(); ++p) {
    const Process& process = run_.processes[p];
    for (size_t i = 0; i < process.calls.size(); ++i) {
      const Call& call = process.calls[i];
      if (!IsNccl(call) || call.info().kind != CallKind::CommInit) continue;
      if (call.open() || call.result != 0 || (call.flags & (kFlagGrouped | kFlagByPlugin))) continue;
      auto comm = process.comms.find(call.comm);
      if (comm == process.comms.end() || comm->second.uid == 0 || !comm->second.blocking) continue;
      meetings[{comm->second.uid, comm->second.id_use}].emplace_back(p, i);
    }
  }
  Gatherer gatherer(hosts_);
  Crossing crossing;
  for (const auto& [key, made] : meetings) {
    for (const auto& [process, index] : made) {
      const Call& call = run_.processes[process].calls[index];
      gatherer.Before(host_of_[process], call.start_ns);
      gatherer.After(host_of_[process], call.start_ns + call.duration_ns);
    }
    gatherer.Take(&crossing);
    if (crossing.before.size() > 1) look(crossing);
  }
}

void Causality::OfChannel(const ChannelEnds& ends, const std::function<void(const Crossing&)>& look) const {
  if (ends.sends.empty() || ends.receives.empty()) return;
  size_t from = ends.sends[0].process, to = ends.receives[0].process;
  if (host_of_[from] == host_of_[to] || LostAny(run_.processes[from]) || LostAny(run_.processes[to])) return;
  if (!OneThread(run_, ends.sends) || !OneThread(run_, ends.receives)) return;
  constexpr int64_t kWaitedNs = 20'000;
  constexpr int64_t kLatencyNs = 2'000, kBytesPerNs = 5;
  Crossing crossing;
  crossing.before.resize(1);
  crossing.after.resize(1);
  for (const End& send : ends.sends) {
    if (send.partner >= kPartnerDropped) continue;
    const End& receive = ends.receives[send.partner];
    int64_t end_ns = receive.completed ? EndOf(receive.process, receive.call) : INT64_MAX;
    if (end_ns == INT64_MAX) continue;
    const Call& sent = run_.processes[send.process].calls[send.call];
    const Call& received = run_.processes[receive.process].calls[receive.call];
    crossing.before[0] = {static_cast<uint32_t>(host_of_[send.process]), sent.start_ns};
    crossing.after[0] = {static_cast<uint32_t>(host_of_[receive.process]), end_ns};
    bool waited = receive.operation == 0 && !received.open() && received.duration_ns >= kWaitedNs && !IsNccl(received);
    std::optional<uint64_t> bytes = waited ? CallBytes(run_.processes[send.process], sent) : std::nullopt;
    crossing.transit_ns = bytes ? kLatencyNs + static_cast<int64_t>(*bytes / kBytesPerNs) : -1;
    look(crossing);
  }
}

void Causality::ForEach(const std::function<void(const Crossing&)>& look) const {
  for (const CommGroup& group : matching_.groups) OfGroup(group, look);
  OfInits(look);
  if (messages_.uncounted) return;
  for (const auto& [channel, ends] : messages_.channels) OfChannel(ends, look);
}

}  // namespace ddbg::analyzer
