#include "analyzer/context/streams.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

int32_t LaneKey(const Call& call) { return call.tag > 0 ? call.tag : -static_cast<int32_t>(call.comm); }

// Where an event was recorded: it happens when `position` items of `lane` are done.
struct EventPlace {
  uint32_t lane, position;
};

class Reader {
 public:
  Reader(const Process& process, int64_t until_ns) : process_(process), until_ns_(until_ns) {}

  ProcessStreams Read() {
    FindCompletions();
    for (size_t i = 0; i < process_.calls.size(); ++i) {
      const Call& call = process_.calls[i];
      if (call.start_ns >= until_ns_) break;
      if (!call.known() || (call.flags & kFlagNested)) continue;
      if (IsNccl(call))
        AddNccl(call, i);
      else if (IsCuda(call) && !(call.flags & kFlagCapturing))
        AddCuda(call, i);
    }
    for (const auto& [thread, group] : groups_) streams_.never_begun.insert(group.begin(), group.end());
    return std::move(streams_);
  }

 private:
  bool Returned(const Call& call) const {
    return !call.open() && (until_ns_ == INT64_MAX || call.start_ns + call.duration_ns <= until_ns_);
  }

  // Operations whose end on the device was recorded, if that was asked for.
  void FindCompletions() {
    bool any = std::any_of(process_.levels.begin(), process_.levels.end(),
                           [](const Level& level) { return level.on && level.name == "GPU completion"; });
    if (!any) return;
    for (const Call& call : process_.calls)
      if (call.call == kCallCompletion && call.start_ns + call.duration_ns <= until_ns_) completed_.insert(call.aux);
  }

  void AddNccl(const Call& call, size_t index) {
    switch (call.info().kind) {
      case CallKind::GroupStart:
        if (call.tag <= 1) groups_[call.thread].clear();
        return;
      case CallKind::GroupEnd:
        if (call.tag <= 1) EndGroup(call, index);
        return;
      case CallKind::CommFinalize:
      case CallKind::CommFree:
      case CallKind::CommAbort:
        if (Returned(call) && call.result == 0) streams_.gone_comms.insert(call.comm);
        return;
      default: break;
    }
    if (!IsStreamWork(call) || IsDropped(call)) return;
    if (!Accepted(call)) {
      streams_.never_begun.insert(index);
    } else if (call.flags & kFlagGrouped) {
      groups_[call.thread].push_back(index);
    } else {
      Put({index}, LaneOf(LaneKey(call)), index);
    }
  }

  void EndGroup(const Call& end, size_t index) {
    std::vector<size_t> group = std::move(groups_[end.thread]);
    groups_[end.thread].clear();
    if (end.info().shape == CallShape::Simulate || !Accepted(end)) {
      streams_.never_begun.insert(group.begin(), group.end());
      return;
    }
    std::vector<uint32_t> lanes;
    for (size_t call : group) {
      uint32_t lane = LaneOf(LaneKey(process_.calls[call]));
      if (std::find(lanes.begin(), lanes.end(), lane) == lanes.end()) lanes.push_back(lane);
    }
    for (uint32_t lane : lanes) {
      std::vector<size_t> own;
      for (size_t call : group)
        if (LaneOf(LaneKey(process_.calls[call])) == lane) own.push_back(call);
      Put(own, lane, index);
    }
  }

  uint32_t LaneOf(int32_t key) {
    auto [at, is_new] = streams_.by_stream.try_emplace(key, static_cast<uint32_t>(streams_.lanes.size()));
    if (is_new) {
      streams_.lanes.emplace_back();
      streams_.lanes.back().stream = std::max(key, 0);
    }
    return at->second;
  }

  void Put(const std::vector<size_t>& calls, uint32_t lane_index, size_t launcher) {
    StreamLane& lane = streams_.lanes[lane_index];
    StreamItem item;
    item.first = static_cast<uint32_t>(lane.calls.size());
    item.count = static_cast<uint32_t>(calls.size());
    item.launcher = launcher;
    lane.calls.insert(lane.calls.end(), calls.begin(), calls.end());
    lane.items.push_back(item);
    bool done = !completed_.empty() && std::all_of(calls.begin(), calls.end(), [&](size_t call) {
      return completed_.count(process_.calls[call].aux) > 0;
    });
    if (done) Finish(lane_index, static_cast<uint32_t>(lane.items.size()));
  }

  void AddCuda(const Call& call, size_t index) {
    switch (call.info().kind) {
      case CallKind::GraphLaunch: ++streams_.graph_launches; return;
      case CallKind::EventRecord: return Record(call);
      case CallKind::EventDestroy: events_.erase(call.aux); return;
      case CallKind::StreamWait: return WaitForEvent(call);
      case CallKind::EventQuery:
        if (call.flags & kFlagNothingDone) return PolledEvent(call);
        [[fallthrough]];
      case CallKind::EventSync: return LearnFromEvent(call, index);
      case CallKind::StreamQuery:
        if (call.flags & kFlagNothingDone) return PolledStream(call);
        [[fallthrough]];
      case CallKind::StreamSync:
        if (Proves(call)) FinishStream(call.tag);
        return;
      case CallKind::DeviceSync:
        if (Proves(call)) FinishDevice(call.peer, false);
        return;
      case CallKind::Copy:
        if (call.info().shape == CallShape::Blocking && Proves(call)) FinishByCopy(call);
        return;
      default: return;
    }
  }

  void LearnFromEvent(const Call& call, size_t index) {
    auto event = events_.find(call.aux);
    if (event == events_.end()) return;
    if (Proves(call))
      Finish(event->second.lane, event->second.position);
    else if (!Returned(call))
      streams_.awaited[index] = {event->second.lane, event->second.position};
  }

  bool Proves(const Call& call) const { return Returned(call) && call.result == 0; }

  void Record(const Call& call) {
    auto lane = streams_.by_stream.find(call.tag);
    // On a stream without work of ours the event happens whatever NCCL does; but an older place of it is no more.
    if (lane == streams_.by_stream.end())
      events_.erase(call.aux);
    else
      events_[call.aux] = {lane->second, static_cast<uint32_t>(streams_.lanes[lane->second].items.size())};
  }

  void WaitForEvent(const Call& call) {
    auto event = events_.find(call.aux);
    if (event == events_.end() || call.tag <= 0) return;
    EventPlace place = event->second;
    uint32_t lane = LaneOf(call.tag);
    if (lane == place.lane || place.position <= streams_.lanes[place.lane].finished) return;
    uint32_t& waited = waited_[uint64_t{lane} << 32 | place.lane];
    if (waited >= place.position) return;
    waited = place.position;
    StreamItem item;
    item.waits = true;
    item.lane = place.lane;
    item.position = place.position;
    streams_.lanes[lane].items.push_back(item);
  }

  // Up to `position`, and whatever that had waited for.
  void Finish(uint32_t lane_index, uint32_t position) {
    StreamLane& lane = streams_.lanes[lane_index];
    uint32_t from = lane.finished;
    if (position <= from) return;
    lane.finished = position;
    if (lane.polled_position <= position) lane.polled_from_ns = lane.polled_until_ns = 0;
    for (uint32_t i = from; i < position; ++i) {
      StreamItem item = streams_.lanes[lane_index].items[i];
      if (item.waits) Finish(item.lane, item.position);
    }
  }

  void FinishLane(uint32_t lane) { Finish(lane, static_cast<uint32_t>(streams_.lanes[lane].items.size())); }

  void FinishStream(int32_t stream) {
    auto lane = streams_.by_stream.find(stream);
    if (lane != streams_.by_stream.end()) FinishLane(lane->second);
  }

  const Stream* StreamOf(int32_t id) const {
    auto found = process_.streams.find(static_cast<uint32_t>(id));
    return id <= 0 || found == process_.streams.end() ? nullptr : &found->second;
  }

  // All streams of a device, or those of them that wait for the legacy stream and it for them. One of an unknown device
  // is its own if the process uses no other.
  void FinishDevice(int32_t device, bool blocking_only) {
    for (uint32_t i = 0; i < streams_.lanes.size(); ++i) {
      const Stream* stream = StreamOf(streams_.lanes[i].stream);
      int32_t own = stream ? stream->device : -1;
      bool same = own == device || ((own < 0 || device < 0) && process_.devices.size() <= 1);
      if (same && (!blocking_only || (stream && stream->blocking()))) FinishLane(i);
    }
  }

  // Of device memory to device memory a copy returns before it is done, and so may one of an unknown kind.
  void FinishByCopy(const Call& call) {
    constexpr uint64_t kHostToDevice = 1 + 1, kDeviceToHost = 2 + 1;
    if (call.aux != kHostToDevice && call.aux != kDeviceToHost) return;
    FinishStream(call.tag);
    const Stream* stream = StreamOf(call.tag);
    if (stream && stream->kind == "legacy") FinishDevice(stream->device, true);
  }

  void PolledEvent(const Call& call) {
    auto event = events_.find(call.aux);
    if (event != events_.end()) Polled(call, event->second.lane, event->second.position);
  }

  void PolledStream(const Call& call) {
    auto lane = streams_.by_stream.find(call.tag);
    if (lane != streams_.by_stream.end())
      Polled(call, lane->second, static_cast<uint32_t>(streams_.lanes[lane->second].items.size()));
  }

  void Polled(const Call& call, uint32_t lane_index, uint32_t position) {
    StreamLane& lane = streams_.lanes[lane_index];
    if (position <= lane.finished || call.open()) return;
    int64_t until = std::min(call.start_ns + call.duration_ns, until_ns_);
    if (until < lane.polled_until_ns) return;
    lane.polled_from_ns = call.start_ns;
    lane.polled_until_ns = until;
    lane.polled_position = position;
  }

  const Process& process_;
  int64_t until_ns_;
  ProcessStreams streams_;
  std::unordered_set<uint64_t> completed_;                    // operations
  std::unordered_map<uint32_t, std::vector<size_t>> groups_;  // by thread: operations of the group that is open
  std::unordered_map<uint64_t, EventPlace> events_;           // by handle
  std::unordered_map<uint64_t, uint32_t> waited_;             // (lane, lane it waits for) → position
};

}  // namespace

size_t ProcessStreams::LaneOf(const Call& call) const {
  auto lane = by_stream.find(LaneKey(call));
  return lane == by_stream.end() ? kNoIndex : lane->second;
}

bool IsDropped(const Call& call) {
  return call.count == 0 && call.known() && call.info().api == Api::Nccl && call.info().kind == CallKind::Collective &&
         (call.info().shape == CallShape::Same || call.info().shape == CallShape::SameRoot);
}

ProcessStreams ReadStreams(const Process& process, int64_t until_ns) { return Reader(process, until_ns).Read(); }

}  // namespace ddbg::analyzer
