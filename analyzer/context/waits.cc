#include "analyzer/context/waits.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/group_creation.h"
#include "analyzer/context/stream_waits.h"
#include "analyzer/context/window_epochs.h"
#include "analyzer/context/window_locks.h"
#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

class Builder {
 public:
  explicit Builder(Context& context)
      : context_(context), most_edges_(MostEdges(context)), streams_(context), locks_(context), epochs_(context) {}

  std::vector<WaitNode> Build() {
    std::vector<WaitNode> nodes;
    for (size_t i = 0; i < context_.run.processes.size(); ++i) nodes.push_back(Node(i));
    for (WaitNode& node : streams_.StreamNodes()) nodes.push_back(std::move(node));
    return nodes;
  }

 private:
  WaitNode Node(size_t process) {
    const Situation& s = context_.situation(process);
    WaitNode node;
    node.process = process;
    // One that died in a call was waiting in it until then: a watchdog or a user may have ended a hang by killing it.
    if (!s.alive_at_end() && !(s.end == EndCause::kOwn && s.open_call != kNoIndex)) {
      node.stand = Stand::kEnded;
      return node;
    }
    if (s.in_finalize || (s.finalized && s.open_call == kNoIndex)) {
      node.stand = Stand::kFinalize;
      return node;
    }
    if (s.open_call == kNoIndex) {
      streams_.AddPerhaps(process, &node);
      return node;
    }
    const Call& call = context_.call(process, s.open_call);
    node.seconds = context_.OpenSeconds(process, s.open_call);
    if (call.info().kind == CallKind::Init) {
      node.stand = Stand::kStarting;
      return node;
    }
    if (call.info().api == Api::Mpi || call.info().api == Api::Gloo)
      AddCall(process, s.open_call, &node);
    else
      AddDevice(process, s.open_call, &node);
    node.stand = node.edges.empty() ? Stand::kInside : Stand::kWaiting;
    return node;
  }

  // NCCL's calls that the hosts carry out together wait like collectives of MPI.
  void AddDevice(size_t process, size_t index, WaitNode* node) {
    const Call& call = context_.call(process, index);
    if (IsCollective(call) && !IsStreamWork(call)) return AddCollective(process, index, node);
    streams_.AddCall(process, index, node);
  }

  void AddCall(size_t process, size_t index, WaitNode* node) {
    const Call& call = context_.call(process, index);
    if (IsCollective(call)) return AddCollective(process, index, node);
    switch (call.info().kind) {
      case CallKind::Send:
        if (call.info().shape != CallShape::Buffered) AddMessage(process, index, true, node);
        return;
      case CallKind::Recv: return AddMessage(process, index, false, node);
      case CallKind::Probe: return AddProbe(process, index, node);
      case CallKind::Sendrecv:
        AddMessage(process, index, true, node);
        if (index + 1 < context_.process(process).calls.size()) AddMessage(process, index + 1, false, node);
        return;
      case CallKind::Wait: return AddRequests(process, index, node);
      case CallKind::Epoch: return epochs_.AddCall(process, index, node);
      case CallKind::Lock:
      case CallKind::Unlock:
      case CallKind::Flush: return locks_.AddCall(process, index, node);
      case CallKind::Rma: return AddOneSided(process, index, node);
      default: return;
    }
  }

  void AddCollective(size_t process, size_t index, WaitNode* node) {
    const Call& call = context_.call(process, index);
    if (call.info().shape == CallShape::CreateGroup) return AddGroupCreation(process, index, node);
    const CommGroup* group = context_.matching.Group(UidOf(context_.process(process), call));
    if (!group) return;
    for (const Member& member : group->members)
      if (member.process != process && !HasMade(member, call.seq) && node->edges.size() < most_edges_)
        node->edges.push_back(
            {member.process, context_.rank(member.process), WaitKind::kCollective, group->uid, call.seq, index});
    AddUntraced(context_.process(process), call, *group, index, node);
    node->met = node->met || (node->edges.empty() && group->members.size() > 1);
  }

  void AddOneSided(size_t process, size_t index, WaitNode* node) {
    locks_.AddCall(process, index, node);
    epochs_.AddCall(process, index, node);
  }

  // Nothing counts it but the members' own calls of the same group.
  void AddGroupCreation(size_t process, size_t index, WaitNode* node) {
    for (size_t member : MembersNotCome(context_, process, index))
      if (node->edges.size() < most_edges_)
        node->edges.push_back({member, context_.rank(member), WaitKind::kGroup,
                               UidOf(context_.process(process), context_.call(process, index)), 0, index});
  }

  // Before the hang was ended, if it was. What was recorded after a gap proves that the member went on: the gap is a
  // loss, not an absence.
  bool HasMade(const Member& member, size_t seq) const {
    if (member.calls.size() <= seq) return false;
    size_t index = member.At(seq);
    return index == kNoIndex ||
           context_.call(member.process, index).start_ns < context_.situation(member.process).until_ns;
  }

  // Members that no file is there for.
  void AddUntraced(const Process& process, const Call& call, const CommGroup& group, size_t index, WaitNode* node) {
    if (group.complete()) return;
    auto comm = process.comms.find(call.comm);
    if (comm == process.comms.end()) return;
    for (int32_t rank : comm->second.members)
      if (rank >= 0 && node->edges.size() < most_edges_ && context_.ProcessOfRank(rank) == kNoIndex)
        node->edges.push_back({kNoIndex, rank, WaitKind::kCollective, group.uid, call.seq, index});
  }

  void AddMessage(size_t process, size_t index, bool sends, WaitNode* node) {
    const Process& p = context_.process(process);
    const Call& call = p.calls[index];
    auto comm = p.comms.find(call.comm);
    if (comm == p.comms.end() || call.peer == kProcNull || context_.messages.uncounted) return;
    WaitKind kind = sends ? WaitKind::kSend : WaitKind::kReceive;
    int32_t peer = PeerIn(comm->second, call.peer);
    if (call.peer == kAnySource || (!sends && call.tag == kAnyTag)) {
      if (!MayArrive(comm->second, call)) AddAny(process, comm->second, call, index, node);
      return;
    }
    if (IsPaired(comm->second, process, index, peer, sends)) {
      node->met = true;
      return;
    }
    AddPeer(comm->second, peer, kind, index, node);
  }

  void AddPeer(const Communicator& comm, int32_t peer, WaitKind kind, size_t index, WaitNode* node) {
    int32_t rank = WorldRank(comm, peer);
    if (rank < 0) return;
    node->edges.push_back({context_.ProcessOfRank(rank), rank, kind, comm.uid, 0, index});
  }

  void AddAny(size_t process, const Communicator& comm, const Call& call, size_t index, WaitNode* node) {
    if (call.peer != kAnySource) return AddPeer(comm, PeerIn(comm, call.peer), WaitKind::kReceive, index, node);
    node->any_suffices = true;
    auto peers = static_cast<int32_t>(comm.remote_size > 0 ? comm.remote_size : comm.size);
    for (int32_t i = 0; i < peers; ++i)
      if (int32_t peer = PeerIn(comm, i); WorldRank(comm, peer) != context_.rank(process))
        AddPeer(comm, peer, WaitKind::kReceive, index, node);
  }

  // Is there a send nobody has received that this receive or probe would take?
  bool MayArrive(const Communicator& comm, const Call& call) {
    const auto& channels = context_.messages.channels;
    for (auto at = channels.lower_bound({comm.uid, INT32_MIN, INT32_MIN});
         at != channels.end() && at->first.comm_uid == comm.uid; ++at) {
      const auto& [channel, ends] = *at;
      if (channel.destination != comm.rank) continue;
      if (call.peer != kAnySource && channel.source != PeerIn(comm, call.peer)) continue;
      for (const End& send : ends.sends)
        if (send.partner == kNoIndex && (call.tag == kAnyTag || send.tag == call.tag)) return true;
    }
    return false;
  }

  bool IsPaired(const Communicator& comm, size_t process, size_t index, int32_t peer, bool sends) {
    Channel channel = sends ? Channel{comm.uid, comm.rank, peer} : Channel{comm.uid, peer, comm.rank};
    auto found = context_.messages.channels.find(channel);
    if (found == context_.messages.channels.end()) return false;
    const std::vector<End>& ends = sends ? found->second.sends : found->second.receives;
    for (auto end = ends.rbegin(); end != ends.rend(); ++end)
      if (end->process == process && end->call == index)
        return end->partner != kNoIndex || TakenByWild(channel, *end, sends);
    return false;
  }

  // A receive from anyone that is still open may be the one that takes this send.
  bool TakenByWild(const Channel& channel, const End& send, bool sends) {
    if (!sends) return false;
    for (const Messages::Wild& wild : context_.messages.wild) {
      const Call& call = context_.call(wild.process, wild.call);
      auto comm = context_.process(wild.process).comms.find(call.comm);
      if (comm == context_.process(wild.process).comms.end() || wild.comm_uid != channel.comm_uid ||
          comm->second.rank != channel.destination)
        continue;
      if ((call.peer == kAnySource || PeerIn(comm->second, call.peer) == channel.source) &&
          (wild.tag == kAnyTag || wild.tag == send.tag))
        return true;
    }
    return false;
  }

  void AddProbe(size_t process, size_t index, WaitNode* node) {
    const Process& p = context_.process(process);
    const Call& call = p.calls[index];
    auto comm = p.comms.find(call.comm);
    if (comm == p.comms.end() || call.peer == kProcNull || context_.messages.uncounted) return;
    if (MayArrive(comm->second, call)) return;
    AddAny(process, comm->second, call, index, node);
  }

  void AddRequests(size_t process, size_t index, WaitNode* node) {
    const Process& p = context_.process(process);
    auto detail = p.open_detail.find(index);
    if (detail == p.open_detail.end()) return;
    CallShape shape = p.calls[index].info().shape;
    size_t satisfied = 0;
    for (uint64_t operation : detail->second.requests) {
      auto posted = context_.messages.posted[process].find(operation);
      if (operation == 0 || posted == context_.messages.posted[process].end()) continue;
      size_t before = node->edges.size();
      AddPosted(process, posted->second, node);
      satisfied += node->edges.size() == before;
    }
    if (shape == CallShape::Any || shape == CallShape::Some) {
      node->any_suffices = true;
      if (satisfied) node->edges.clear();
    }
  }

  void AddPosted(size_t process, size_t posted, WaitNode* node) {
    const Call& call = context_.call(process, posted);
    CallKind kind = call.info().kind;
    if (IsCollective(call)) return AddCollective(process, posted, node);
    if (kind == CallKind::Rma) return AddOneSided(process, posted, node);
    if (kind == CallKind::Sendrecv) {  // the operation's number leads to its second half
      AddMessage(process, posted - 1, true, node);
      return AddMessage(process, posted, false, node);
    }
    if (kind == CallKind::Send || (kind == CallKind::Start && call.op == 1))
      return AddMessage(process, posted, true, node);
    if (kind == CallKind::Recv || (kind == CallKind::Start && call.op == 2)) AddMessage(process, posted, false, node);
  }

  Context& context_;
  size_t most_edges_;
  StreamWaits streams_;
  WindowLocks locks_;
  WindowEpochs epochs_;
};

}  // namespace

size_t MostEdges(const Context& context) {
  constexpr size_t kAllTogether = 8 << 20, kAtLeast = 64;
  return std::max(kAtLeast, kAllTogether / std::max<size_t>(1, context.run.processes.size()));
}

std::vector<WaitNode> BuildWaits(Context& context) { return Builder(context).Build(); }

std::string WhereIs(Context& context, const WaitNode& node) {
  std::string text = context.WhereIs(node.process);
  if (!node.is_stream()) return text;
  const ReplayLane& lane = context.replay.lanes[node.lane];
  const StreamLane& stream = context.replay.Of(lane);
  std::string name = StreamName(context.process(node.process), stream.stream);
  for (size_t i = lane.head; i < stream.items.size(); ++i) {
    if (stream.items[i].waits) continue;
    size_t call = stream.calls[stream.items[i].first];
    return fmt::format("{}; {} has {}, which cannot be done", text, name.empty() ? "its stream" : name,
                       context.Describe(node.process, call));
  }
  return text;
}

}  // namespace ddbg::analyzer
