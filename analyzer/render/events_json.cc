#include <unordered_map>
#include <vector>

#include "analyzer/call_fields.h"
#include "analyzer/comm_name.h"
#include "analyzer/render/events.h"
#include "analyzer/render/json_line.h"

namespace ddbg::analyzer {
namespace {

Json FrameJson(const Frame& frame) {
  Json json = Json::object();
  if (!frame.function.empty()) json["function"] = frame.function;
  if (!frame.file.empty()) json["file"] = frame.file;
  if (frame.line > 0) json["line"] = frame.line;
  if (frame.python) {
    json["language"] = "python";
  } else if (!frame.module.empty()) {
    json["module"] = frame.module;
    json["offset"] = frame.offset;
  } else {
    json["address"] = frame.address;
  }
  if (frame.inlined) json["inlined"] = true;
  return json;
}

std::string StackText(const StackView& view) {
  Json frames = Json::array();
  for (const Frame& frame : view.frames) frames.push_back(FrameJson(frame));
  return Dump(frames);
}

// The JSON text of what one process's ids stand for, made once each.
class Texts {
 public:
  Texts(const Process& process, StackViews* views) : process_(process), views_(views) {}

  const std::string& Comm(uint32_t id) {
    return Kept(&comms_, id, [&] { return JsonLine::StringText(CommName(process_, id)); });
  }
  const std::string& CommUid(uint32_t id) {
    return Kept(&uids_, id, [&] {
      auto comm = process_.comms.find(id);
      return comm == process_.comms.end() ? "null" : JsonLine::StringText(CommUidText(comm->second.uid));
    });
  }
  const std::string& Datatype(uint32_t id) {
    return Kept(&dtypes_, id, [&] { return JsonLine::StringText(DatatypeName(process_, id)); });
  }
  const std::string& Kernel(uint32_t id) {
    return Kept(&kernels_, id, [&] { return JsonLine::StringText(KernelName(process_, id)); });
  }
  const std::string& Stack(uint32_t id) {
    return Kept(&stacks_, id, [&] { return StackText(views_->Of(process_, id)); });
  }
  const std::string& CallName(const Call& call) {
    // A foreign call's name is found by aux; no call id of this build reaches that far.
    uint32_t key = call.known() ? call.call : static_cast<uint32_t>(kUnknownCall + call.aux);
    return Kept(&calls_, key, [&] { return JsonLine::StringText(analyzer::CallName(process_, call)); });
  }

 private:
  using Map = std::unordered_map<uint32_t, std::string>;
  template <typename Make>
  static const std::string& Kept(Map* map, uint32_t id, Make make) {
    auto [entry, fresh] = map->try_emplace(id);
    if (fresh) entry->second = make();
    return entry->second;
  }

  const Process& process_;
  StackViews* views_;
  Map comms_, uids_, dtypes_, kernels_, stacks_, calls_;
};

void PutPeer(JsonLine* line, std::string_view key, int32_t peer) {
  std::string_view word = PeerWord(peer);
  if (!word.empty()) {
    line->Raw(key, fmt::format("\"{}\"", word));
  } else if (peer != kNoPeer) {
    line->Number(key, peer);
  }
}

void PutComm(JsonLine* line, const Call& call, const CallFields& fields, Texts* texts) {
  if (fields.comm) {
    line->Raw("comm", texts->Comm(call.comm));
    line->Raw("comm_uid", texts->CommUid(call.comm));
  }
  if (fields.seq) line->Number("seq", call.seq);
  if (fields.new_comm) line->Raw("new_comm", texts->Comm(static_cast<uint32_t>(call.aux)));
}

void PutContent(JsonLine* line, const Process& process, const Call& call, const CallFields& fields, Texts* texts) {
  if (fields.count) {
    line->Number("count", static_cast<int64_t>(call.count));
    if (call.dtype) line->Raw("dtype", texts->Datatype(call.dtype));
    if (auto bytes = CallBytes(process, call)) line->Number("bytes", *bytes);
  } else if (call.dtype && call.known() && !fields.kernel && !fields.graph) {
    line->Raw("dtype", texts->Datatype(call.dtype));
  }
  if (fields.bytes) line->Number("bytes", call.count);
  if (!fields.recv_side) return;
  RecvSide side = RecvSide::Unpack(call.aux);
  line->Number("recv_count", side.count);
  if (side.dtype) line->Raw("recv_dtype", texts->Datatype(side.dtype));
}

void PutTarget(JsonLine* line, const Call& call, const CallFields& fields) {
  if (fields.op && call.op) line->Raw("op", fmt::format("\"{}\"", OpName(call)));
  if (fields.root) PutPeer(line, "root", call.peer);
  if (fields.peer) PutPeer(line, "peer", call.peer);
  if (fields.tag && call.tag == kAnyTag) line->Raw("tag", "\"any\"");
  if (fields.tag && call.tag != kAnyTag) line->Number("tag", call.tag);
  if (call.flags & kFlagInPlace) line->Raw("in_place", "true");
}

// Handles are words of the process: hexadecimal text, since a number of JSON may not hold them.
void PutHandle(JsonLine* line, std::string_view key, uint64_t handle) {
  line->Raw(key, fmt::format("\"{:#x}\"", handle));
}

void PutStream(JsonLine* line, const Process& process, const Call& call, const CallFields& fields) {
  int32_t device = DeviceOf(process, call);
  if (device >= 0) line->Number("device", device);
  if (!fields.stream || call.tag <= 0) return;
  line->Number("stream", call.tag);
  auto stream = process.streams.find(static_cast<uint32_t>(call.tag));
  if (stream == process.streams.end()) return;
  PutHandle(line, "stream_handle", stream->second.handle);
  if (!stream->second.kind.empty()) line->Raw("stream_kind", JsonLine::StringText(stream->second.kind));
}

void PutDeviceFields(JsonLine* line, const Process& process, const Call& call, const CallFields& fields, Texts* texts) {
  PutStream(line, process, call, fields);
  if (fields.kernel) {
    if (call.dtype) line->Raw("kernel", texts->Kernel(call.dtype));
    line->Number("blocks", call.count);
    if (call.peer >= 0) line->Number("threads", call.peer);
  }
  if (fields.copy_kind && call.aux) line->Raw("copy_kind", fmt::format("\"{}\"", CopyKindName(call)));
  if (fields.event) PutHandle(line, "event", call.aux);
  if (fields.address && call.aux) PutHandle(line, "address", call.aux);
  if (fields.graph && call.aux) PutHandle(line, "graph", call.aux);
  if (call.flags & kFlagNested) line->Raw("nested", "true");
  if (call.flags & kFlagCapturing) line->Raw("capturing", "true");
}

void PutNcclFields(JsonLine* line, const Call& call, const CallFields& fields) {
  if (fields.ranks) line->Number("ranks", call.count), line->Number("own_rank", call.peer);
  if (fields.color) line->Number("color", call.tag);
  if (fields.group) line->Number("group", call.aux);
  if (fields.depth) line->Number("depth", call.tag);
  if (fields.operations) line->Number("operations", call.count);
  if (fields.state) line->Raw("state", JsonLine::StringText(NcclResultName(call.aux)));
  if (IsNccl(call) && (call.flags & kFlagGrouped)) line->Raw("grouped", "true");
}

void PutRequests(JsonLine* line, const Process& process, const Event& event, const CallFields& fields) {
  const Call& call = process.calls[event.call];
  if (fields.operation) line->Number("operation", call.aux);
  if (fields.requests) line->Number("requests", call.count);
  if (fields.polls) line->Number("polls", call.count);
  if (fields.code) line->Number("code", call.tag);
  auto open = process.open_detail.find(event.call);
  if (open != process.open_detail.end()) line->Raw("waiting_for", Dump(Json(open->second.requests)));
}

void PutTimes(JsonLine* line, const Call& call) {
  line->Number("t_ns", call.start_ns);
  if (call.open()) {
    line->Null("dur_ns");
  } else {
    line->Number("dur_ns", call.duration_ns);
    if (call.call >= kFirstCall) line->Number("result", call.result);
    if (std::string_view name = ResultName(call); !name.empty()) line->Raw("result_name", fmt::format("\"{}\"", name));
  }
}

bool IsSendrecv(const Call& call) { return call.known() && call.info().kind == CallKind::Sendrecv; }

const std::string& EventLine(const Process& process, const Event& event, Texts* texts, bool stacks, JsonLine* line) {
  const Call& call = process.calls[event.call];
  CallFields fields = FieldsOf(call);
  if (process.rank() >= 0) line->Number("rank", process.rank());
  line->Number("pid", process.pid);
  auto tid = process.tid_by_thread.find(call.thread);
  if (tid != process.tid_by_thread.end()) line->Number("tid", tid->second);
  if (call.call >= kFirstCall) line->Raw("call", texts->CallName(call));
  line->Raw("kind", fmt::format("\"{}\"", KindName(call)));
  if (IsSendrecv(call))
    line->Raw("half", call.flags & kFlagSecondHalf ? "\"recv\"" : "\"send\"");
  else if (call.flags & kFlagSecondHalf)
    line->Raw("half", "\"more\"");
  PutComm(line, call, fields, texts);
  PutContent(line, process, call, fields, texts);
  PutTarget(line, call, fields);
  if (IsNccl(call)) PutNcclFields(line, call, fields);
  if (IsNccl(call) || IsCuda(call)) PutDeviceFields(line, process, call, fields, texts);
  PutRequests(line, process, event, fields);
  if (call.call == kCallLost) line->Number("records", call.count);
  PutTimes(line, call);
  if (stacks && call.stack) line->Raw("stack", texts->Stack(call.stack));
  return line->Finish();
}

}  // namespace

void PrintEventsJson(const Run& run, const Timeline& timeline, const EventFilter& filter, StackViews* views,
                     Output& out) {
  std::vector<Texts> texts;
  for (const Process& process : run.processes) texts.emplace_back(process, views);
  JsonLine line;
  ForEachEvent(run, timeline, filter, [&](const Event& event) {
    return out.Write(EventLine(run.processes[event.process], event, &texts[event.process], views != nullptr, &line));
  });
}

}  // namespace ddbg::analyzer
