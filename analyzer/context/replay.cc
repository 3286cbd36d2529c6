#include "analyzer/context/replay.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyzer/match/messages.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/parallel.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kNowhere = kNoIndex;

// Where the records of a communicator are: group and member.
struct Place {
  size_t group = kNoIndex, member = kNoIndex;
};
using Places = std::unordered_map<uint32_t, Place>;  // by communicator id

std::vector<Places> FindPlaces(const Run& run, const Matching& matching) {
  std::vector<Places> places(run.processes.size());
  for (size_t g = 0; g < matching.groups.size(); ++g)
    for (size_t m = 0; m < matching.groups[g].members.size(); ++m) {
      const Member& member = matching.groups[g].members[m];
      places[member.process][member.comm_id] = {g, m};
    }
  return places;
}

bool LostAny(const Process& process) { return process.lost_total() > 0 || !process.damage.empty(); }

// The messages of one pair in one direction. The k-th send meets the k-th receive.
struct ChannelHash {
  size_t operator()(const Channel& channel) const {
    uint64_t ends = uint64_t{static_cast<uint32_t>(channel.source)} << 32 | static_cast<uint32_t>(channel.destination);
    return static_cast<size_t>((channel.comm_uid ^ ends * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd);
  }
};

struct Pair {
  struct Ends {
    bool sent = false, received = false;
    size_t send_lane = kNowhere, receive_lane = kNowhere;  // that wait with it at their head
  };
  std::unordered_map<uint64_t, Ends> open;  // by number
  bool known = true;                        // both ends were traced without a loss
};

class Player {
 public:
  Player(const Run& run, const Matching& matching, const Situations& situations)
      : run_(run), matching_(matching), places_(FindPlaces(run, matching)) {
    for (const Situation& situation : situations.of) replay_.until_ns.push_back(situation.until_ns);
  }

  Replay Play() {
    replay_.streams.resize(run_.processes.size());
    ParallelFor(run_.processes.size(), 0,
                [&](size_t i) { replay_.streams[i] = ReadStreams(run_.processes[i], replay_.until_ns[i]); });
    for (size_t i = 0; i < run_.processes.size(); ++i) {
      replay_.first_lane.emplace_back();
      for (size_t lane = 0; lane < replay_.streams[i].lanes.size(); ++lane) {
        replay_.first_lane[i].push_back(replay_.lanes.size());
        replay_.lanes.push_back({i, lane, 0});
      }
    }
    state_.resize(replay_.lanes.size());
    CountArrivals();
    NumberMessages();
    for (size_t lane = replay_.lanes.size(); lane-- > 0;) work_.push_back(lane);
    while (!work_.empty()) {
      size_t lane = work_.back();
      work_.pop_back();
      Advance(lane);
    }
    return std::move(replay_);
  }

 private:
  struct LaneState {
    bool begun = false;  // its head was counted
    bool busy = false;   // being counted just now
    size_t lacking = 0;  // operations of its head that are not complete
    std::vector<size_t> waiters;
    std::vector<uint64_t> numbers;  // of messages, by index into StreamLane::calls
  };

  // Who has come to each collective already: members whose record was lost, who carry it out in a graph or on the host.
  void CountArrivals() {
    replay_.undecided_from.assign(matching_.groups.size(), kNoIndex);
    arrived_.resize(matching_.groups.size());
    for (size_t g = 0; g < matching_.groups.size(); ++g) {
      const CommGroup& group = matching_.groups[g];
      if (!group.nccl) continue;
      size_t count = group.longest - group.first;
      arrived_[g].assign(count, 0);
      std::vector<uint32_t> captured(count, 0), made(count, 0);
      for (const Member& member : group.members)
        for (size_t i = 0; group.first + i < member.calls.size(); ++i)
          CountArrival(member, group.first + i, &arrived_[g][i], &captured[i], &made[i]);
      for (size_t i = 0; i < count && replay_.undecided_from[g] == kNoIndex; ++i)
        if (captured[i] > 0 && captured[i] < made[i]) replay_.undecided_from[g] = group.first + i;
    }
  }

  void CountArrival(const Member& member, size_t seq, uint32_t* arrived, uint32_t* captured, uint32_t* made) {
    size_t index = member.calls[seq];
    if (index == kNoIndex) return static_cast<void>(++*arrived);
    const Call& call = run_.processes[member.process].calls[index];
    if (call.start_ns >= replay_.until_ns[member.process]) return;
    ++*made;
    bool in_graph = (call.flags & kFlagCapturing) != 0;
    if (in_graph) ++*captured;
    if (in_graph || (!IsStreamWork(call) && !IsDropped(call))) ++*arrived;
  }

  const Place* PlaceOf(size_t process, const Call& call) const {
    auto place = places_[process].find(call.comm);
    return place == places_[process].end() ? nullptr : &place->second;
  }

  static bool IsMessage(const Call& call) {
    return call.info().kind == CallKind::Send || call.info().kind == CallKind::Recv;
  }

  Channel ChannelOf(size_t process, const Call& call) const {
    const Communicator& comm = run_.processes[process].comms.at(call.comm);
    return call.info().kind == CallKind::Send ? Channel{comm.uid, comm.rank, call.peer}
                                              : Channel{comm.uid, call.peer, comm.rank};
  }

  // In the order of the calls, whatever stream they were put on.
  void NumberMessages() {
    for (size_t process = 0; process < run_.processes.size(); ++process) {
      std::map<Channel, uint64_t> sends, receives;
      for (const DroppedMessages& dropped : run_.processes[process].dropped.messages)
        AddDropped(process, dropped, &sends, &receives);
      std::vector<std::pair<size_t, std::pair<size_t, size_t>>> messages;  // call, (lane, place in it)
      for (size_t lane : replay_.first_lane[process]) {
        const std::vector<size_t>& calls = replay_.Of(replay_.lanes[lane]).calls;
        for (size_t k = 0; k < calls.size(); ++k)
          if (IsMessage(run_.processes[process].calls[calls[k]])) messages.push_back({calls[k], {lane, k}});
      }
      std::sort(messages.begin(), messages.end());
      for (const auto& [index, at] : messages) {
        const Call& call = run_.processes[process].calls[index];
        std::vector<uint64_t>& numbers = state_[at.first].numbers;
        numbers.resize(replay_.Of(replay_.lanes[at.first]).calls.size());
        if (!PlaceOf(process, call)) continue;
        numbers[at.second] = (call.info().kind == CallKind::Send ? sends : receives)[ChannelOf(process, call)]++;
      }
    }
  }

  void AddDropped(size_t process, const DroppedMessages& dropped, std::map<Channel, uint64_t>* sends,
                  std::map<Channel, uint64_t>* receives) {
    Call call;
    call.call = dropped.call;
    call.comm = dropped.comm;
    call.peer = dropped.peer;
    if (!IsNccl(call) || !IsMessage(call) || !PlaceOf(process, call)) return;
    (call.info().kind == CallKind::Send ? *sends : *receives)[ChannelOf(process, call)] += dropped.times;
  }

  void Advance(size_t index) {
    ReplayLane& lane = replay_.lanes[index];
    LaneState& state = state_[index];
    const StreamLane& stream = replay_.Of(lane);
    size_t before = lane.head;
    while (lane.head < stream.items.size()) {
      const StreamItem& item = stream.items[lane.head];
      bool over = lane.head < stream.finished || IsGone(lane, item);
      if (item.waits) {
        size_t target = replay_.first_lane[lane.process][item.lane];
        if (!over && replay_.lanes[target].head < item.position) {
          state_[target].waiters.push_back(index);
          break;
        }
      } else {
        if (!state.begun) Begin(index, item, over);
        if (!over && state.lacking > 0) break;
      }
      state.begun = false;
      ++lane.head;
    }
    if (lane.head == before || state.waiters.empty()) return;
    work_.insert(work_.end(), state.waiters.begin(), state.waiters.end());
    state.waiters.clear();
  }

  bool IsGone(const ReplayLane& lane, const StreamItem& item) const {
    const ProcessStreams& streams = replay_.streams[lane.process];
    if (item.waits || streams.gone_comms.empty()) return false;
    for (uint32_t k = item.first; k < item.first + item.count; ++k)
      if (!streams.gone_comms.count(run_.processes[lane.process].calls[replay_.Of(lane).calls[k]].comm)) return false;
    return true;
  }

  // The head of a lane begins: it has come to each of its operations. `over`: it does not wait for anybody there.
  void Begin(size_t index, const StreamItem& item, bool over) {
    LaneState& state = state_[index];
    state.begun = state.busy = true;
    state.lacking = 0;
    const ReplayLane& lane = replay_.lanes[index];
    for (uint32_t k = item.first; k < item.first + item.count; ++k) {
      const Call& call = run_.processes[lane.process].calls[replay_.Of(lane).calls[k]];
      const Place* place = PlaceOf(lane.process, call);
      if (!place) continue;
      if (IsMessage(call))
        ComeToMessage(index, call, state.numbers[k], over);
      else
        ComeToCollective(index, *place, call, over);
    }
    state.busy = false;
  }

  void ComeToCollective(size_t index, const Place& place, const Call& call, bool over) {
    const CommGroup& group = matching_.groups[place.group];
    if (call.seq < group.first || call.seq >= group.longest || call.seq >= replay_.undecided_from[place.group]) return;
    size_t count = ++arrived_[place.group][call.seq - group.first];
    if (count < group.members.size()) {
      if (!over) ++state_[index].lacking;
      return;
    }
    for (size_t m = 0; m < group.members.size(); ++m)
      if (m != place.member) Complete(group.members[m], call.seq);
  }

  // Its collective is complete: if it waits with it at the head of a lane, that lacks one less.
  void Complete(const Member& member, size_t seq) {
    size_t call = member.At(seq);
    if (call == kNoIndex) return;
    size_t own = replay_.streams[member.process].LaneOf(run_.processes[member.process].calls[call]);
    if (own == kNoIndex) return;
    size_t lane = replay_.first_lane[member.process][own];
    if (state_[lane].begun && HeadHas(lane, call)) LacksOneLess(lane);
  }

  bool HeadHas(size_t index, size_t call) const {
    const ReplayLane& lane = replay_.lanes[index];
    const StreamLane& stream = replay_.Of(lane);
    if (lane.head >= stream.items.size()) return false;
    const StreamItem& item = stream.items[lane.head];
    auto begin = stream.calls.begin() + item.first;
    return !item.waits && std::binary_search(begin, begin + item.count, call);
  }

  void LacksOneLess(size_t lane) {
    if (state_[lane].lacking > 0 && --state_[lane].lacking == 0 && !state_[lane].busy) work_.push_back(lane);
  }

  void ComeToMessage(size_t index, const Call& call, uint64_t number, bool over) {
    size_t process = replay_.lanes[index].process;
    Channel channel = ChannelOf(process, call);
    auto [at, is_new] = pairs_.try_emplace(channel);
    Pair& pair = at->second;
    if (is_new) pair.known = IsKnown(channel);
    if (!pair.known) return;
    Pair::Ends& ends = pair.open[number];
    bool sends = call.info().kind == CallKind::Send;
    (sends ? ends.sent : ends.received) = true;
    if (ends.sent && ends.received) {
      size_t other = sends ? ends.receive_lane : ends.send_lane;
      pair.open.erase(number);
      if (other != kNowhere) LacksOneLess(other);
    } else if (!over) {
      (sends ? ends.send_lane : ends.receive_lane) = index;
      ++state_[index].lacking;
    }
  }

  bool IsKnown(const Channel& channel) const {
    const CommGroup* group = matching_.Group(channel.comm_uid);
    size_t sides = 0;
    if (!group) return false;
    for (const Member& member : group->members) {
      if (member.comm_rank != channel.source && member.comm_rank != channel.destination) continue;
      const Process& process = run_.processes[member.process];
      if (LostAny(process) || process.dropped.uncounted) return false;
      sides += (member.comm_rank == channel.source) + (member.comm_rank == channel.destination);
    }
    return sides == 2;
  }

  const Run& run_;
  const Matching& matching_;
  std::vector<Places> places_;
  Replay replay_;
  std::vector<LaneState> state_;
  std::vector<std::vector<uint32_t>> arrived_;  // by group and sequence number, from the group's first
  std::unordered_map<Channel, Pair, ChannelHash> pairs_;
  std::vector<size_t> work_;  // lanes that may go on
};

}  // namespace

Replay PlayThrough(const Run& run, const Matching& matching, const Situations& situations) {
  return Player(run, matching, situations).Play();
}

}  // namespace ddbg::analyzer
