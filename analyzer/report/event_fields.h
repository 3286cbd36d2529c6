// An event as keys and values, for everything that writes events for programs: JSON lines, CSV and Perfetto's arguments
// say the same under the same names. `t_ns` is on the run's axis (timeline.h). PutEvent calls the sink once for each
// field that means something, in a fixed order.
//
// A sink has
//   Number(key, integer)      Word(key, text)        few different ones, plain ASCII without quotes
//   Real(key, double)         a finite one
//   Text(key, KeptText&)      Handle(key, word)      an address or handle of the process
//   True(key)                 Null(key)
//   Numbers(key, vector)      Stack(KeptStack&)
// Keys are string literals: equal keys may be told by their address.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/model.h"
#include "analyzer/report/event_filter.h"
#include "analyzer/stacks/stack_view.h"

namespace ddbg::analyzer {

// A text that comes again and again.
struct KeptText {
  std::string text;
  std::string encoded;  // the sink's own form of it, made once; "" at first
  uint64_t number = 0;  // the same
};

struct KeptStack {
  const StackView* view = nullptr;
  KeptText line;  // the program's own line: "step() at solver.c:42"
};

// What one process's ids stand for, made once each. `views` may be null: no stacks.
class EventTexts {
 public:
  EventTexts(const Process& process, StackViews* views) : process_(process), views_(views) {}

  bool has_stacks() const { return views_ != nullptr; }
  KeptText& Comm(uint32_t id);
  KeptText& CommUid(uint32_t id);  // "" if it is not known
  KeptText& Datatype(uint32_t id);
  KeptText& Kernel(uint32_t id);
  KeptText& MarkName(uint32_t id);
  KeptText& CallName(const Call& call);
  KeptText& StreamKind(uint32_t id);
  KeptStack& Stack(uint32_t id);

 private:
  using Map = std::unordered_map<uint32_t, KeptText>;

  const Process& process_;
  StackViews* views_;
  Map comms_, uids_, dtypes_, kernels_, calls_, stream_kinds_, mark_names_;
  std::unordered_map<uint32_t, KeptStack> stacks_;
};

inline bool IsSendrecv(const Call& call) { return call.known() && call.info().kind == CallKind::Sendrecv; }

namespace event_fields {

template <typename Sink>
void PutPeer(std::string_view key, int32_t peer, Sink* sink) {
  std::string_view word = PeerWord(peer);
  if (!word.empty()) {
    sink->Word(key, word);
  } else if (peer != kNoPeer) {
    sink->Number(key, peer);
  }
}

template <typename Sink>
void PutComm(const Call& call, const CallFields& fields, EventTexts* texts, Sink* sink) {
  if (fields.comm) {
    sink->Text("comm", texts->Comm(call.comm));
    KeptText& uid = texts->CommUid(call.comm);
    uid.text.empty() ? sink->Null("comm_uid") : sink->Text("comm_uid", uid);
  }
  if (fields.seq) sink->Number("seq", call.seq);
  if (fields.new_comm) sink->Text("new_comm", texts->Comm(static_cast<uint32_t>(call.aux)));
}

template <typename Sink>
void PutContent(const Process& process, const Call& call, const CallFields& fields, EventTexts* texts, Sink* sink) {
  if (fields.count) {
    sink->Number("count", static_cast<int64_t>(call.count));
    if (call.dtype) sink->Text("dtype", texts->Datatype(call.dtype));
    if (auto bytes = CallBytes(process, call)) sink->Number("bytes", *bytes);
  } else if (call.dtype && call.known() && !fields.kernel && !fields.graph) {
    sink->Text("dtype", texts->Datatype(call.dtype));
  }
  if (fields.bytes) sink->Number("bytes", call.count);
  if (!fields.recv_side) return;
  RecvSide side = RecvSide::Unpack(call.aux);
  sink->Number("recv_count", side.count);
  if (side.dtype) sink->Text("recv_dtype", texts->Datatype(side.dtype));
}

template <typename Sink>
void PutTarget(const Call& call, const CallFields& fields, Sink* sink) {
  if (fields.op && call.op) sink->Word("op", OpName(call));
  if (fields.root) PutPeer("root", call.peer, sink);
  if (fields.peer) PutPeer("peer", call.peer, sink);
  if (fields.tag && call.tag == kAnyTag) sink->Word("tag", "any");
  if (fields.tag && call.tag != kAnyTag) sink->Number("tag", call.tag);
  if (call.flags & kFlagInPlace) sink->True("in_place");
  if (fields.lock) sink->Word("lock", call.tag == 1 ? "exclusive" : "shared");
  if (fields.offset) sink->Number("offset", static_cast<int64_t>(call.aux));
  if (fields.mode) sink->Number("mode", call.tag);
  if (fields.partition) sink->Number("partition", call.tag);
  if (fields.partitions) sink->Number("partitions", static_cast<int64_t>(call.count));
}

// What JSON has no number for is a word: "nan", "inf", "-inf".
template <typename Sink>
void PutReal(std::string_view key, double value, Sink* sink) {
  if (std::isfinite(value))
    sink->Real(key, value);
  else
    sink->Word(key, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

// A mark of a step tells its number, any other event that of the step it lies in.
template <typename Sink>
void PutMark(const Call& call, const CallFields& fields, const Event& event, EventTexts* texts, Sink* sink) {
  if (fields.level) sink->Number("level", call.tag);
  if (fields.name) sink->Text("name", texts->MarkName(static_cast<uint32_t>(call.aux)));
  if (fields.step)
    sink->Number("step", static_cast<int64_t>(call.count));
  else if (event.step >= 0)
    sink->Number("step", event.step);
  if (fields.value) PutReal("value", ValueOf(call), sink);
  if (fields.text) sink->Text("text", texts->MarkName(static_cast<uint32_t>(call.aux >> 32)));
  if (fields.number) sink->Number("number", static_cast<int64_t>(call.count));
}

template <typename Sink>
void PutNccl(const Call& call, const CallFields& fields, Sink* sink) {
  if (fields.color) sink->Number("color", call.tag);
  if (fields.group) sink->Number("group", call.aux);
  if (fields.depth) sink->Number("depth", call.tag);
  if (fields.operations) sink->Number("operations", call.count);
  if (fields.state) sink->Word("state", NcclResultName(call.aux));
  if (call.flags & kFlagGrouped) sink->True("grouped");
}

template <typename Sink>
void PutStream(const Process& process, const Call& call, const CallFields& fields, EventTexts* texts, Sink* sink) {
  int32_t device = DeviceOf(process, call);
  if (device >= 0) sink->Number("device", device);
  if (!fields.stream || call.tag <= 0) return;
  sink->Number("stream", call.tag);
  auto stream = process.streams.find(static_cast<uint32_t>(call.tag));
  if (stream == process.streams.end()) return;
  sink->Handle("stream_handle", stream->second.handle);
  if (!stream->second.kind.empty()) sink->Text("stream_kind", texts->StreamKind(stream->first));
}

template <typename Sink>
void PutDevice(const Process& process, const Call& call, const CallFields& fields, EventTexts* texts, Sink* sink) {
  PutStream(process, call, fields, texts, sink);
  if (fields.kernel) {
    if (call.dtype) sink->Text("kernel", texts->Kernel(call.dtype));
    sink->Number("blocks", call.count);
    if (call.peer >= 0) sink->Number("threads", call.peer);
  }
  if (fields.copy_kind && call.aux) sink->Word("copy_kind", CopyKindName(call));
  if (fields.event) sink->Handle("event", call.aux);
  if (fields.address && call.aux) sink->Handle("address", call.aux);
  if (fields.graph && call.aux) sink->Handle("graph", call.aux);
  if (call.flags & kFlagNested) sink->True("nested");
  if (call.flags & kFlagCapturing) sink->True("capturing");
}

template <typename Sink>
void PutRequests(const Process& process, const Event& event, const CallFields& fields, Sink* sink) {
  const Call& call = process.calls[event.call];
  if (fields.operation) sink->Number("operation", call.aux);
  if (fields.requests) sink->Number("requests", call.count);
  if (fields.polls) sink->Number("polls", call.count);
  if (fields.code) sink->Number("code", call.tag);
  if (!call.open()) return;
  auto open = process.open_detail.find(event.call);
  if (open != process.open_detail.end()) sink->Numbers("waiting_for", open->second.requests);
}

template <typename Sink>
void PutTimes(const Call& call, const Event& event, Sink* sink) {
  sink->Number("t_ns", event.at_ns);
  if (call.open()) return sink->Null("dur_ns");
  sink->Number("dur_ns", event.end_ns - event.at_ns);
  if (call.call >= kFirstCall) sink->Number("result", call.result);
  if (std::string_view name = ResultName(call); !name.empty()) sink->Word("result_name", name);
}

}  // namespace event_fields

template <typename Sink>
void PutEvent(const Process& process, const Event& event, EventTexts* texts, Sink* sink) {
  using namespace event_fields;
  const Call& call = process.calls[event.call];
  CallFields fields = FieldsOf(call);
  if (process.rank() >= 0) sink->Number("rank", process.rank());
  sink->Number("pid", process.pid);
  auto tid = process.tid_by_thread.find(call.thread);
  if (tid != process.tid_by_thread.end()) sink->Number("tid", tid->second);
  if (call.call >= kFirstCall) sink->Text("call", texts->CallName(call));
  sink->Word("kind", KindName(call));
  if (IsSendrecv(call))
    sink->Word("half", call.flags & kFlagSecondHalf ? "recv" : "send");
  else if (call.flags & kFlagSecondHalf)
    sink->Word("half", "more");
  PutComm(call, fields, texts, sink);
  PutContent(process, call, fields, texts, sink);
  PutTarget(call, fields, sink);
  PutMark(call, fields, event, texts, sink);
  if (fields.ranks) sink->Number("ranks", call.count);
  if (fields.ranks && !fields.root) sink->Number("own_rank", call.peer);
  if (IsNccl(call)) PutNccl(call, fields, sink);
  if (IsNccl(call) || IsCuda(call)) PutDevice(process, call, fields, texts, sink);
  bool mpi = call.known() && call.info().api == Api::Mpi && call.info().kind != CallKind::RequestFree;
  if (mpi && call.flags & kFlagNested) sink->True("nested");
  PutRequests(process, event, fields, sink);
  if (call.call == kCallLost) sink->Number("records", call.count);
  PutTimes(call, event, sink);
  if (texts->has_stacks() && call.stack) sink->Stack(texts->Stack(call.stack));
}

// Every key that PutEvent may use, in its order; "stack" stands for Stack.
inline constexpr std::string_view kEventKeys[] = {
    "rank",        "pid",           "tid",         "call",      "kind",       "half",        "comm",       "comm_uid",
    "seq",         "new_comm",      "count",       "dtype",     "bytes",      "recv_count",  "recv_dtype", "op",
    "root",        "peer",          "tag",         "in_place",  "lock",       "offset",      "mode",       "partition",
    "partitions",  "level",         "name",        "step",      "value",      "text",        "number",     "ranks",
    "own_rank",    "color",         "group",       "depth",     "operations", "state",       "grouped",    "device",
    "stream",      "stream_handle", "stream_kind", "kernel",    "blocks",     "threads",     "copy_kind",  "event",
    "address",     "graph",         "nested",      "capturing", "operation",  "requests",    "polls",      "code",
    "waiting_for", "records",       "t_ns",        "dur_ns",    "result",     "result_name", "stack"};

}  // namespace ddbg::analyzer
