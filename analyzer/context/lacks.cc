// What a stuck item of a stream lacks: looked up in what was matched, for the few lanes that are stuck.
#include <algorithm>
#include <utility>

#include "analyzer/context/context.h"
#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {

class LacksFinder::Search {
 public:
  Search(LacksFinder& finder, const ReplayLane& lane) : finder_(finder), context_(finder.context_), lane_(lane) {}

  std::vector<Lack> Find() {
    const StreamLane& stream = context_.replay.Of(lane_);
    const StreamItem& item = stream.items[lane_.head];
    if (item.waits) {
      size_t target = context_.replay.first_lane[lane_.process][item.lane];
      return {{Lack::kSameProcess, lane_.process, target, kNoIndex, kNoIndex, false, false}};
    }
    for (uint32_t k = item.first; k < item.first + item.count; ++k) {
      size_t index = stream.calls[k];
      const Call& call = context_.call(lane_.process, index);
      CallKind kind = call.info().kind;
      if (kind == CallKind::Send || kind == CallKind::Recv)
        LookForPartner(call, index, kind == CallKind::Send);
      else
        LookForMembers(call, index);
    }
    return std::move(lacks_);
  }

 private:
  void LookForMembers(const Call& call, size_t index) {
    const CommGroup* group = context_.matching.Group(UidOf(context_.process(lane_.process), call));
    if (!group) return;
    size_t number = context_.matching.by_uid.at(group->uid);
    if (call.seq >= context_.replay.undecided_from[number]) return;
    auto [known, fresh] = finder_.collectives_.try_emplace({number, call.seq});
    if (fresh) known->second = LackingMembers(*group, call.seq);
    for (const OfMember& member : known->second) {
      if (member.lack.process == lane_.process && member.comm_id == call.comm) continue;
      lacks_.push_back(member.lack);
      lacks_.back().waiting = index;
    }
  }

  std::vector<OfMember> LackingMembers(const CommGroup& group, uint32_t seq) {
    std::vector<Lack> others = std::exchange(lacks_, {});
    std::vector<OfMember> members;
    for (const Member& member : group.members) {
      if (member.calls.size() <= seq)
        Add(Lack::kNeverCalled, member.process, kNoIndex, kNoIndex);
      else if (member.At(seq) != kNoIndex)
        Judge(member.process, member.At(seq), kNoIndex, false, false);
      for (const Lack& lack : lacks_) members.push_back({member.comm_id, lack});
      lacks_.clear();
    }
    lacks_ = std::move(others);
    return members;
  }

  void LookForPartner(const Call& call, size_t index, bool sends) {
    auto known = context_.process(lane_.process).comms.find(call.comm);
    if (known == context_.process(lane_.process).comms.end()) return;
    const Communicator& comm = known->second;
    int32_t number = PeerIn(comm, call.peer);
    Channel channel = sends ? Channel{comm.uid, comm.rank, number} : Channel{comm.uid, number, comm.rank};
    const CommGroup* group = context_.matching.Group(comm.uid);
    const Member* peer = group ? group->OfCommRank(number) : nullptr;
    auto found = context_.messages.channels.find(channel);
    if (!peer || found == context_.messages.channels.end()) return;
    const std::vector<End>& own = sends ? found->second.sends : found->second.receives;
    const std::vector<End>& others = sends ? found->second.receives : found->second.sends;
    auto end = std::find_if(own.begin(), own.end(),
                            [&](const End& e) { return e.call == index && e.process == lane_.process; });
    if (end == own.end() || end->partner == kPartnerDropped) return;
    if (end->partner == kNoIndex)
      Add(Lack::kNeverCalled, peer->process, kNoIndex, index, true, sends);
    else
      Judge(others[end->partner].process, others[end->partner].call, index, true, sends);
  }

  // The other side made its call: did it come to it?
  void Judge(size_t process, size_t made, size_t waiting, bool message, bool sends) {
    const Call& call = context_.call(process, made);
    if (call.start_ns >= context_.replay.until_ns[process])
      return Add(Lack::kNeverCalled, process, kNoIndex, waiting, message, sends);
    if ((call.flags & kFlagCapturing) || (!IsStreamWork(call) && !IsDropped(call))) return;
    const ProcessStreams& streams = context_.replay.streams[process];
    size_t own = streams.LaneOf(call);
    if (!Accepted(call) || IsDropped(call) || streams.never_begun.count(made) || own == kNoIndex)
      return Add(Lack::kNotBegun, process, made, waiting, message, sends);
    size_t index = context_.replay.first_lane[process][own];
    const ReplayLane& lane = context_.replay.lanes[index];
    if (!context_.replay.IsStuck(lane)) return;
    const StreamLane& stream = context_.replay.Of(lane);
    const StreamItem& head = stream.items[lane.head];
    uint32_t from = 0;
    if (head.waits) {  // the next work behind it is not reached
      for (size_t i = lane.head; i-- > 0;)
        if (!stream.items[i].waits) {
          from = stream.items[i].first + stream.items[i].count;
          break;
        }
    } else {
      auto begin = stream.calls.begin() + head.first;
      if (std::find(begin, begin + head.count, made) != begin + head.count) return;
      from = head.first + head.count;
    }
    if (std::find(stream.calls.begin() + from, stream.calls.end(), made) == stream.calls.end()) return;
    Add(Lack::kBehind, process, made, waiting, message, sends);
    lacks_.back().lane = index;
  }

  void Add(Lack::Why why, size_t process, size_t made, size_t waiting, bool message = false, bool sends = false) {
    lacks_.push_back({why, process, kNoIndex, waiting, made, message, sends});
  }

  LacksFinder& finder_;
  const Context& context_;
  const ReplayLane& lane_;
  std::vector<Lack> lacks_;
};

std::vector<Lack> LacksFinder::Of(size_t lane) {
  const ReplayLane& at = context_.replay.lanes[lane];
  return context_.replay.IsStuck(at) ? Search(*this, at).Find() : std::vector<Lack>();
}

}  // namespace ddbg::analyzer
