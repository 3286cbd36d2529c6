#include "analyzer/context/stream_waits.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {

StreamWaits::StreamWaits(Context& context) : context_(context), most_edges_(MostEdges(context)), lacks_(context) {
  size_t next = context_.run.processes.size();
  const Replay& replay = context_.replay;
  node_of_lane_.assign(replay.lanes.size(), kNoIndex);
  // What a process left on its streams when it ended well, nobody waits for there.
  for (size_t lane = 0; lane < replay.lanes.size(); ++lane)
    if (replay.IsStuck(replay.lanes[lane]) && context_.situation(replay.lanes[lane].process).alive_at_end())
      node_of_lane_[lane] = next++;
}

std::vector<WaitNode> StreamWaits::StreamNodes() {
  std::vector<WaitNode> nodes;
  for (size_t lane = 0; lane < node_of_lane_.size(); ++lane)
    if (node_of_lane_[lane] != kNoIndex) nodes.push_back(StreamNode(lane));
  return nodes;
}

void StreamWaits::AddPerhaps(size_t process, WaitNode* node) {
  for (size_t lane : StuckLanes(process)) AddLane(process, lane, kNoIndex, WaitKind::kDevice, &node->perhaps);
}

WaitNode StreamWaits::StreamNode(size_t lane) {
  WaitNode node;
  node.process = context_.replay.lanes[lane].process;
  node.lane = lane;
  node.stand = Stand::kWaiting;
  size_t begun = LauncherOf(lane), working = lane;
  // A stream that only hands an order of events on waits as long as the one that it waits for.
  for (size_t steps = context_.replay.lanes.size(); begun == kNoIndex && steps > 0; --steps) {
    const ReplayLane& at = context_.replay.lanes[working];
    working = context_.replay.first_lane[at.process][context_.replay.Of(at).items[at.head].lane];
    if (node_of_lane_[working] == kNoIndex) break;
    begun = LauncherOf(working);
  }
  if (begun != kNoIndex) node.seconds = context_.OpenSeconds(node.process, begun);
  for (const Lack& lack : lacks_.Of(lane)) {
    if (node.edges.size() >= most_edges_) break;
    if (lack.why == Lack::kBehind || lack.why == Lack::kSameProcess) {
      AddLane(node.process, lack.lane, lack.waiting, WaitKind::kStream, &node.edges);
      continue;
    }
    WaitEdge edge = EdgeTo(lack.process, node.process, lack.waiting);
    edge.kind = !lack.message ? WaitKind::kCollective : lack.sends ? WaitKind::kSend : WaitKind::kReceive;
    edge.not_begun = lack.why == Lack::kNotBegun;
    node.edges.push_back(edge);
  }
  if (node.edges.empty()) node.stand = Stand::kInside;
  return node;
}

WaitEdge StreamWaits::EdgeTo(size_t target, size_t process, size_t index) {
  WaitEdge edge;
  edge.to = target;
  edge.to_rank = context_.rank(target);
  edge.call = index;
  if (index == kNoIndex) return edge;
  const Call& call = context_.call(process, index);
  edge.comm_uid = UidOf(context_.process(process), call);
  edge.seq = call.seq;
  return edge;
}

void StreamWaits::AddLane(size_t process, size_t lane, size_t call, WaitKind kind, std::vector<WaitEdge>* edges) {
  if (node_of_lane_[lane] == kNoIndex) return;
  WaitEdge edge = EdgeTo(context_.replay.lanes[lane].process, process, call);
  edge.to = node_of_lane_[lane];
  edge.kind = kind;
  edges->push_back(edge);
}

// The call that began the first work of a stuck lane.
size_t StreamWaits::LauncherOf(size_t index) const {
  const ReplayLane& lane = context_.replay.lanes[index];
  const StreamLane& stream = context_.replay.Of(lane);
  for (size_t i = lane.head; i < stream.items.size(); ++i)
    if (!stream.items[i].waits) return stream.items[i].launcher;
  return kNoIndex;
}

std::vector<size_t> StreamWaits::StuckLanes(size_t process) const {
  std::vector<size_t> lanes;
  for (size_t lane : context_.replay.first_lane[process])
    if (node_of_lane_[lane] != kNoIndex && LauncherOf(lane) != kNoIndex) lanes.push_back(lane);
  return lanes;
}

// Of a stream by its id; kNoIndex if nothing on it is stuck.
size_t StreamWaits::StuckLane(size_t process, int32_t stream) const {
  const ProcessStreams& streams = context_.replay.streams[process];
  auto found = streams.by_stream.find(stream);
  if (stream <= 0 || found == streams.by_stream.end()) return kNoIndex;
  size_t lane = context_.replay.first_lane[process][found->second];
  return node_of_lane_[lane] == kNoIndex ? kNoIndex : lane;
}

void StreamWaits::AddCall(size_t process, size_t index, WaitNode* node) {
  const Call& call = context_.call(process, index);
  switch (call.info().kind) {
    case CallKind::StreamSync: return AddStream(process, call.tag, index, node);
    case CallKind::EventSync: return AddEventSync(process, index, node);
    case CallKind::DeviceSync:
    case CallKind::Alloc:
    case CallKind::Free: return AddAllStreams(process, index, node);
    // The queue of launches is shared and finite: it fills behind what is stuck on any stream (nccl#1766).
    case CallKind::Copy:
    case CallKind::Fill:
    case CallKind::Launch:
    case CallKind::GraphLaunch:
    case CallKind::HostCallback:
    case CallKind::EventRecord:
    case CallKind::StreamWait:
      AddStream(process, call.tag, index, node);
      if (node->edges.empty()) AddAllStreams(process, index, node);
      return;
    case CallKind::GroupEnd: return AddGroupEnd(process, index, node);
    case CallKind::Collective:
    case CallKind::Send:
    case CallKind::Recv: return AddOwnStream(process, call, index, node);
    case CallKind::CommFinalize:
    case CallKind::CommFree:
    case CallKind::CommAbort: return AddTeardown(process, index, node);
    default: return;
  }
}

void StreamWaits::AddStream(size_t process, int32_t stream, size_t call, WaitNode* node) {
  size_t lane = StuckLane(process, stream);
  if (lane != kNoIndex) AddLane(process, lane, call, WaitKind::kDevice, &node->edges);
}

void StreamWaits::AddAllStreams(size_t process, size_t call, WaitNode* node) {
  for (size_t lane : StuckLanes(process)) AddLane(process, lane, call, WaitKind::kDevice, &node->edges);
}

void StreamWaits::AddOwnStream(size_t process, const Call& call, size_t index, WaitNode* node) {
  size_t own = context_.replay.streams[process].LaneOf(call);
  if (own != kNoIndex)
    AddLane(process, context_.replay.first_lane[process][own], index, WaitKind::kDevice, &node->edges);
}

void StreamWaits::AddEventSync(size_t process, size_t index, WaitNode* node) {
  const ProcessStreams& streams = context_.replay.streams[process];
  auto awaited = streams.awaited.find(index);
  if (awaited == streams.awaited.end()) return;
  size_t lane = context_.replay.first_lane[process][awaited->second.lane];
  if (context_.replay.lanes[lane].head < awaited->second.position)
    AddLane(process, lane, index, WaitKind::kDevice, &node->edges);
}

void StreamWaits::AddGroupEnd(size_t process, size_t index, WaitNode* node) {
  for (size_t lane : StuckLanes(process)) {
    const StreamLane& stream = context_.replay.Of(context_.replay.lanes[lane]);
    if (std::any_of(stream.items.begin() + static_cast<std::ptrdiff_t>(context_.replay.lanes[lane].head),
                    stream.items.end(), [&](const StreamItem& item) { return item.launcher == index; }))
      AddLane(process, lane, index, WaitKind::kDevice, &node->edges);
  }
}

// Ends of a communicator wait for what is left of it, and for the peers to come to its end too.
void StreamWaits::AddTeardown(size_t process, size_t index, WaitNode* node) {
  const Call& call = context_.call(process, index);
  const CommGroup* group = context_.matching.Group(UidOf(context_.process(process), call));
  if (call.info().kind != CallKind::CommAbort)
    for (size_t lane : StuckLanes(process))
      if (HoldsComm(lane, call.comm)) AddLane(process, lane, index, WaitKind::kDevice, &node->edges);
  if (!node->edges.empty() || !group) return;
  for (const Member& member : group->members) {
    if (member.process == process || !context_.situation(member.process).alive_at_end()) continue;
    if (node->edges.size() < most_edges_ && !EndsComm(member))
      node->edges.push_back(EdgeTo(member.process, process, index));
  }
}

bool StreamWaits::HoldsComm(size_t index, uint32_t comm) const {
  const ReplayLane& lane = context_.replay.lanes[index];
  const StreamLane& stream = context_.replay.Of(lane);
  return std::any_of(stream.calls.begin(), stream.calls.end(),
                     [&](size_t call) { return context_.call(lane.process, call).comm == comm; }) &&
         lane.head < stream.items.size();
}

bool StreamWaits::EndsComm(const Member& member) {
  auto [ended, fresh] = ended_.try_emplace(member.process);
  if (fresh)
    for (const Call& call : context_.process(member.process).calls) {
      if (!IsNccl(call)) continue;
      CallKind kind = call.info().kind;
      if (kind == CallKind::CommFinalize || kind == CallKind::CommFree || kind == CallKind::CommAbort)
        ended->second.insert(call.comm);
    }
  return ended->second.count(member.comm_id) > 0;
}

}  // namespace ddbg::analyzer
