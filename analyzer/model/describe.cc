#include "analyzer/model/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/comm_name.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

std::string PeerName(int32_t peer) {
  switch (peer) {
    case kAnySource: return "any source";
    case kProcNull: return "nobody (MPI_PROC_NULL)";
    case kRootSelf: return "MPI_ROOT";
    default: return fmt::format("rank {}", peer);
  }
}

std::string TagName(int32_t tag) { return tag == kAnyTag ? "any tag" : fmt::format("tag {}", tag); }

bool IsRooted(CallShape shape) {
  return shape == CallShape::Bcast || shape == CallShape::Reduce || shape == CallShape::Gather ||
         shape == CallShape::Scatter || shape == CallShape::VaryRooted;
}

std::string Amount(const Process& process, const Call& call) {
  std::string type = DatatypeName(process, call.dtype);
  return type.empty() ? fmt::format("{} elements", static_cast<int64_t>(call.count))
                      : fmt::format("{} × {}", static_cast<int64_t>(call.count), type);
}

std::string CollectiveArguments(const Process& process, const Call& call) {
  CallShape shape = call.info().shape;
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (shape == CallShape::Bcast || shape == CallShape::Reduce || shape == CallShape::Allreduce ||
      shape == CallShape::Gather || shape == CallShape::Scatter || shape == CallShape::Allgather ||
      shape == CallShape::Alltoall || shape == CallShape::Same || shape == CallShape::SameRoot)
    add(call.flags & kFlagInPlace && !IsNccl(call) ? std::string("in place") : Amount(process, call));
  if (call.op) add(std::string(OpName(call)));
  if (IsNccl(call) && FieldsOf(call).root) add(fmt::format("root {}", call.peer));
  if (IsRooted(shape)) add(call.peer == kRootSelf ? "MPI_ROOT" : fmt::format("root {}", call.peer));
  return text;
}

// "ranks 1, 2" of MPI_COMM_WORLD.
std::string GroupText(const Process& process, const Call& call) {
  auto group = process.comms.find(static_cast<uint32_t>(call.aux));
  if (call.aux == 0 || group == process.comms.end()) return "";
  std::vector<int32_t> ranks = group->second.members;
  std::sort(ranks.begin(), ranks.end());
  return RankList(ranks);
}

// Of calls of CUDA: the stream, and what goes there.
std::string DeviceArguments(const Process& process, const Call& call) {
  CallFields fields = FieldsOf(call);
  std::string text;
  auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  if (fields.kernel) add(KernelName(process, call.dtype));
  if (fields.bytes) add(BytesText(call.count));
  if (fields.copy_kind) add(std::string(CopyKindName(call)));
  if (fields.operations) add(fmt::format("{} operations", call.count));
  if (fields.stream) add(StreamName(process, call.tag));
  return text;
}

std::string Arguments(const Process& process, const Call& call) {
  if (!call.known()) return "";
  switch (call.info().kind) {
    case CallKind::Collective: return CollectiveArguments(process, call);
    case CallKind::Send:
    case CallKind::SendInit:
      if (IsNccl(call)) return fmt::format("{}, to {}", Amount(process, call), PeerName(call.peer));
      return fmt::format("{}, to {}, {}", Amount(process, call), PeerName(call.peer), TagName(call.tag));
    case CallKind::Recv:
    case CallKind::RecvInit:
    case CallKind::Mrecv:
      if (IsNccl(call)) return fmt::format("{}, from {}", Amount(process, call), PeerName(call.peer));
      return fmt::format("{}, from {}, {}", Amount(process, call), PeerName(call.peer), TagName(call.tag));
    case CallKind::Sendrecv:
      return fmt::format("{}, {} {}, {}", Amount(process, call), call.flags & kFlagSecondHalf ? "from" : "to",
                         PeerName(call.peer), TagName(call.tag));
    case CallKind::Probe: return fmt::format("from {}, {}", PeerName(call.peer), TagName(call.tag));
    case CallKind::Abort: return fmt::format("code {}", call.tag);
    case CallKind::Wait:
    case CallKind::Test: return call.info().shape == CallShape::One ? "" : fmt::format("{} requests", call.count);
    case CallKind::Step: return std::to_string(static_cast<int64_t>(call.count));
    case CallKind::PhaseBegin:
    case CallKind::PhaseEnd: return MarkName(process, call);
    case CallKind::Value: return fmt::format("{} = {}", MarkName(process, call), ValueOf(call));
    case CallKind::Event: {
      std::string text = MarkText(process, call);
      return text.empty() ? MarkName(process, call) : MarkName(process, call) + ": " + text;
    }
    case CallKind::Control:
      return call.aux ? fmt::format("{}, {}", call.tag, MarkName(process, call)) : std::to_string(call.tag);
    case CallKind::CollectiveInit: return CollectiveArguments(process, call);
    case CallKind::Rma: return fmt::format("{}, at {}", Amount(process, call), PeerName(call.peer));
    case CallKind::Lock:
    case CallKind::Unlock:
    case CallKind::Flush: return call.info().shape == CallShape::One ? PeerName(call.peer) : "";
    case CallKind::Epoch: return GroupText(process, call);
    case CallKind::FileAccess: return Amount(process, call);
    case CallKind::FileCollective:
    case CallKind::SplitBegin: return FieldsOf(call).count ? Amount(process, call) : "";
    case CallKind::Spawn: return fmt::format("{} processes, root {}", call.count, call.peer);
    case CallKind::Connect: return call.comm ? fmt::format("root {}", call.peer) : "";
    case CallKind::CommInit: return fmt::format("{} ranks, as rank {}", call.count, call.peer);
    default: return DeviceArguments(process, call);
  }
}

}  // namespace

std::string DescribeCall(const Process& process, const Call& call) {
  std::string arguments = Arguments(process, call), text = CallName(process, call);
  if (!arguments.empty()) text += "(" + arguments + ")";
  if (call.comm == 0) return text;
  text += " on " + CommName(process, call.comm);
  if (FieldsOf(call).seq) text += fmt::format(" #{}", call.seq);
  return text;
}

std::string RankAndPid(const Process& process) {
  return process.rank() >= 0 ? fmt::format("rank {} (pid {})", process.rank(), process.pid)
                             : fmt::format("pid {}", process.pid);
}

std::string Capitalized(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string RankList(const std::vector<int32_t>& ranks) {
  if (ranks.empty()) return "no rank";
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  std::string text = "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (i > 0) text += ", ";
    if (end - i >= 3)
      text += fmt::format("{} to {}", ranks[i], ranks[end - 1]);
    else if (end - i == 2)
      text += fmt::format("{}, {}", ranks[i], ranks[i + 1]);
    else
      text += fmt::format("{}", ranks[i]);
    i = end;
  }
  return text;
}

}  // namespace ddbg::analyzer
