#include "analyzer/report/call_lanes.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/stacks/fingerprint.h"

namespace ddbg::analyzer {
namespace {

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

uint64_t Mix(uint64_t hash, std::string_view text) {
  for (unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3;
  return Mix(hash, text.size());
}

constexpr uint64_t kSeed = 0xcbf29ce484222325;

enum class LaneKind : uint64_t { kCollective, kSend, kReceive, kOther };

LaneKind KindOfLane(const Call& call) {
  switch (call.info().kind) {
    case CallKind::Send:
    case CallKind::Sendrecv:
    case CallKind::SendInit: return LaneKind::kSend;
    case CallKind::Recv:
    case CallKind::Mrecv:
    case CallKind::RecvInit: return LaneKind::kReceive;
    default: return FieldsOf(call).seq ? LaneKind::kCollective : LaneKind::kOther;
  }
}

bool SizesDifferByDesign(const Call& call) {
  CallShape shape = call.info().shape;
  return shape == CallShape::VaryRooted || shape == CallShape::Vary || shape == CallShape::VaryReduce;
}

}  // namespace

bool IsCompared(const Call& call) {
  if (!call.known() || IsCuda(call) || (call.flags & (kFlagNested | kFlagSecondHalf | kFlagByPlugin))) return false;
  switch (call.info().kind) {
    case CallKind::Init:
    case CallKind::Finalize:
    case CallKind::Abort:
    case CallKind::Send:
    case CallKind::Recv:
    case CallKind::Sendrecv:
    case CallKind::Mrecv:
    case CallKind::SendInit:
    case CallKind::RecvInit:
    case CallKind::CommFree:
    case CallKind::Rma:
    case CallKind::FileAccess:
    case CallKind::CommInit:
    case CallKind::CommFinalize:
    case CallKind::CommAbort:
    case CallKind::CommRevoke: return true;
    default: return IsCollective(call.info().kind);
  }
}

CallLanes::CallLanes(const Process& process, bool by_function, StackViews* views)
    : process_(process), by_function_(by_function), views_(views) {
  for (const auto& [id, comm] : process.comms)
    if (comm.nccl && comm.parent == 0) nccl_comms_.push_back(id);
  std::sort(nccl_comms_.begin(), nccl_comms_.end());
  for (size_t i = 0; i < process.calls.size(); ++i)
    if (IsCompared(process.calls[i])) Add(i);
}

void CallLanes::Add(size_t index) {
  const Call& call = process_.calls[index];
  CallLane& lane = LaneOf(call);
  lane.signatures.push_back(Signature(call));
  lane.calls.push_back(static_cast<uint32_t>(index));
}

CallLane& CallLanes::LaneOf(const Call& call) {
  LaneKind kind = KindOfLane(call);
  bool has_peer = kind == LaneKind::kSend;
  // A first, cheap key of this process alone, so that the real one is made once a lane.
  uint64_t own = Mix(Mix(static_cast<uint64_t>(kind), call.comm), has_peer ? static_cast<uint32_t>(call.peer) : 0);
  auto [known, fresh] = lane_keys_.try_emplace(own);
  if (!fresh) return lanes_[lane_of_.at(known->second)];
  CallLane lane;
  uint64_t comm = kind == LaneKind::kOther ? 0 : CommKey(call.comm);
  lane.key = Mix(Mix(Mix(kSeed, static_cast<uint64_t>(kind)), comm), has_peer ? static_cast<uint32_t>(call.peer) : 0);
  std::string on = call.comm ? " on " + CommName(process_, call.comm) : "";
  switch (kind) {
    case LaneKind::kCollective: lane.name = "collectives" + on; break;
    case LaneKind::kSend: lane.name = fmt::format("sends to {}{}", PeerText(call.peer), on); break;
    case LaneKind::kReceive: lane.name = "receives" + on; break;
    case LaneKind::kOther: lane.name = "start, end and communicators"; break;
  }
  known->second = lane.key;
  auto [place, is_new] = lane_of_.try_emplace(lane.key, lanes_.size());
  if (is_new) lanes_.push_back(std::move(lane));
  return lanes_[place->second];
}

uint64_t CallLanes::CommKey(uint32_t id) {
  if (id == 0) return 0;
  auto [known, fresh] = comm_keys_.try_emplace(id, id);
  if (!fresh) return known->second;
  auto found = process_.comms.find(id);
  uint64_t key = Mix(kSeed, id);
  if (found != process_.comms.end()) {
    const Communicator& comm = found->second;
    key = Mix(Mix(kSeed, comm.kind), uint64_t{comm.size});
    if (comm.nccl && comm.parent == 0) {
      auto at = std::lower_bound(nccl_comms_.begin(), nccl_comms_.end(), id);
      key = Mix(key, static_cast<uint64_t>(at - nccl_comms_.begin()));
    } else {
      key = Mix(Mix(key, CommKey(comm.parent)), uint64_t{comm.creation_index});
      for (int32_t member : comm.members) key = Mix(key, static_cast<uint64_t>(member));
    }
  }
  return comm_keys_[id] = key;
}

uint64_t CallLanes::Site(uint32_t stack) {
  if (stack == 0) return 0;
  auto [known, fresh] = sites_.try_emplace(stack);
  if (!fresh) return known->second;
  if (!by_function_) return known->second = SiteKey(process_, stack);
  uint64_t key = kSeed;
  for (const Frame& frame : views_->Of(process_, stack).frames) key = Mix(key, frame.function);
  return known->second = key;
}

uint64_t CallLanes::Signature(const Call& call) {
  CallFields fields = FieldsOf(call);
  bool receives = KindOfLane(call) == LaneKind::kReceive;
  uint64_t signature = Mix(kSeed, uint64_t{call.call});
  if (fields.comm) signature = Mix(signature, CommKey(call.comm));
  if (fields.count && !SizesDifferByDesign(call)) signature = Mix(signature, call.count);
  if (call.dtype) {
    auto [dtype, fresh] = dtypes_.try_emplace(call.dtype);
    if (fresh) dtype->second = Mix(kSeed, DatatypeName(process_, call.dtype));
    signature = Mix(signature, dtype->second);
  }
  if (fields.op) signature = Mix(signature, uint64_t{call.op});
  if (fields.root) signature = Mix(signature, static_cast<uint32_t>(call.peer));
  if (fields.tag && !receives) signature = Mix(signature, static_cast<uint32_t>(call.tag));
  return Mix(signature, Site(call.stack));
}

std::string CallLanes::SiteText(const Call& call) {
  return call.stack ? DescribeFrame(views_->Of(process_, call.stack).source_frame()) : "";
}

CallLanes::Change CallLanes::Compare(const Call& own, CallLanes& other, const Call& others) {
  auto name = [](const Process& process, const Call& call) { return CallName(process, call); };
  if (own.call != others.call) return {"call", name(process_, own), name(other.process_, others)};
  CallFields fields = FieldsOf(own);
  bool receives = KindOfLane(own) == LaneKind::kReceive;
  if (fields.comm && CommKey(own.comm) != other.CommKey(others.comm))
    return {"communicator", CommName(process_, own.comm), CommName(other.process_, others.comm)};
  if (fields.count && !SizesDifferByDesign(own) && own.count != others.count)
    return {"count", std::to_string(own.count), std::to_string(others.count)};
  std::string type = DatatypeName(process_, own.dtype), other_type = DatatypeName(other.process_, others.dtype);
  if (type != other_type) return {"datatype", type, other_type};
  if (fields.op && own.op != others.op) return {"op", std::string(OpName(own)), std::string(OpName(others))};
  if (fields.root && own.peer != others.peer) return {"root", PeerText(own.peer), PeerText(others.peer)};
  if (fields.tag && !receives && own.tag != others.tag) return {"tag", TagText(own.tag), TagText(others.tag)};
  if (Site(own.stack) != other.Site(others.stack)) return {"call site", SiteText(own), other.SiteText(others)};
  return {};
}

}  // namespace ddbg::analyzer
