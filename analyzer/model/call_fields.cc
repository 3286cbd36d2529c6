#include "analyzer/model/call_fields.h"

#include <fmt/format.h>

#include <bit>
#include <iterator>

#include "analyzer/model/demangle.h"
#include "analyzer/model/refused.h"
#include "proto/operations.h"

namespace ddbg::analyzer {
namespace {

__extension__ typedef unsigned __int128 RoleSet;

template <typename... R>
constexpr RoleSet MaskOf(R... roles) {
  return (RoleSet{0} | ... | (RoleSet{1} << static_cast<unsigned>(roles)));
}

// The roles of each call's arguments, as a set.
constexpr RoleSet kRoles[] = {
#define DDBG_CALL(api, name, kind, shape, ...) \
  []() constexpr {                             \
    using enum Role;                           \
    return MaskOf(__VA_ARGS__);                \
  }                                            \
  (),
#include "proto/calls_all.def"
#undef DDBG_CALL
};
static_assert(std::size(kRoles) == kCallCount && static_cast<unsigned>(Role::CaptureMode) < 128);

constexpr std::string_view kKindNames[] = {
    "init",
    "finalize",
    "abort",
    "collective",
    "send",
    "recv",
    "sendrecv",
    "probe",
    "mrecv",
    "send_init",
    "recv_init",
    "start",
    "wait",
    "test",
    "request_free",
    "cancel",
    "comm_create",
    "comm_free",
    "comm_name",
    "type_commit",
    "type_free",
    "collective_init",
    "part_ready",
    "part_arrived",
    "request_status",
    "grequest_start",
    "grequest_complete",
    "buffer_attach",
    "buffer_detach",
    "buffer_flush",
    "session_init",
    "session_finalize",
    "spawn",
    "connect",
    "disconnect",
    "comm_parent",
    "port",
    "win_create",
    "win_free",
    "fence",
    "epoch",
    "lock",
    "unlock",
    "flush",
    "rma",
    "file_open",
    "file_close",
    "file_delete",
    "file_collective",
    "file_access",
    "split_begin",
    "split_end",
    "unique_id",
    "comm_init",
    "comm_finalize",
    "comm_abort",
    "comm_revoke",
    "async_error",
    "group_start",
    "group_end",
    "register",
    "deregister",
    "op_create",
    "op_free",
    "one_sided",
    "step",
    "phase_begin",
    "phase_end",
    "control",
    "value",
    "event",
    "launch",
    "graph_launch",
    "host_callback",
    "copy",
    "fill",
    "alloc",
    "free",
    "device_set",
    "stream_create",
    "stream_destroy",
    "stream_query",
    "stream_sync",
    "stream_wait",
    "event_create",
    "event_destroy",
    "event_record",
    "event_query",
    "event_sync",
    "device_sync",
    "capture_begin",
    "capture_end",
    "graph_create",
    "graph_destroy",
    "detail",
};
static_assert(std::size(kKindNames) == static_cast<size_t>(CallKind::Detail) + 1);

constexpr std::string_view kOpNames[] = {
    "",         "MPI_MAX",  "MPI_MIN",    "MPI_SUM",    "MPI_PROD",    "MPI_LAND",  "MPI_BAND", "MPI_LOR", "MPI_BOR",
    "MPI_LXOR", "MPI_BXOR", "MPI_MAXLOC", "MPI_MINLOC", "MPI_REPLACE", "MPI_NO_OP", "user",     "avg",     "premulsum",
};
static_assert(std::size(kOpNames) == kOpPreMulSum + 1);

bool IsCompletionCall(CallKind kind) { return kind == CallKind::Wait || kind == CallKind::Test; }

// Of MPI's windows, files, partitions and whatever else came after its second version.
void FieldsOfLaterMpi(const Call& call, RoleSet roles, CallFields* fields) {
  auto has = [&](auto... any) { return (roles & MaskOf(any...)) != 0; };
  CallKind kind = call.info().kind;
  fields->partition = has(Role::Low);
  fields->offset = has(Role::Offset) && !call.info().has_request;
  fields->mode = has(Role::AccessMode);
  fields->lock = kind == CallKind::Lock;
  fields->bytes = has(Role::Bytes) || kind == CallKind::BufferAttach;
  fields->count = has(Role::Count, Role::LargeCount) && !fields->bytes && kind != CallKind::Spawn;
  fields->ranks = kind == CallKind::Spawn;
  fields->partitions = kind == CallKind::PartReady;
  fields->polls = (call.flags & kFlagNothingDone) && !IsRefused(call);
  if (fields->partitions || fields->polls) fields->count = false;
  bool makes = kind == CallKind::CommCreate || kind == CallKind::Spawn || kind == CallKind::Connect ||
               kind == CallKind::CommParent || kind == CallKind::WinCreate || kind == CallKind::FileOpen;
  fields->new_comm = makes && !call.info().has_request && call.aux != 0;
  fields->operation = fields->operation || (has(Role::RequestValue) && call.aux != 0 && !fields->polls && !call.open());
}

// A call that ends operations carries the fields of the one it ended, if it was one.
CallFields FieldsOfEnded(const Call& call, CallFields fields) {
  bool one = call.aux != 0;
  fields.operation = fields.count = one;
  fields.comm = call.comm != 0;
  fields.peer = fields.tag = one && call.peer != kNoPeer;
  return fields;
}

CallFields FieldsOfCompletionCall(const Call& call, CallFields fields) {
  fields.polls = (call.flags & kFlagNothingDone) && call.count > 0;  // 0: a wait on null requests
  CallShape shape = call.info().shape;
  fields.requests = !fields.polls && (shape == CallShape::All || shape == CallShape::Some);
  if (call.open() || fields.polls || fields.requests) return fields;
  return FieldsOfEnded(call, fields);
}

CallFields FieldsOfMark(const Call& call, CallFields fields) {
  CallKind kind = call.info().kind;
  fields.step = kind == CallKind::Step;
  fields.level = kind == CallKind::Control;
  fields.name = kind != CallKind::Step && static_cast<uint32_t>(call.aux) != 0;
  fields.value = kind == CallKind::Value;
  fields.number = kind == CallKind::Event;
  fields.text = kind == CallKind::Event && call.aux >> 32 != 0;
  return fields;
}

// Kinds that NCCL and CUDA brought; the meaning of a record's fields is FORMAT.md's.
void FieldsOfKind(const Call& call, CallFields* fields) {
  switch (call.info().kind) {
    case CallKind::CommInit: fields->ranks = true; return;
    case CallKind::CommCreate: fields->color = call.info().name == "ncclCommSplit"; return;
    case CallKind::AsyncError: fields->state = true, fields->polls = call.count > 0; return;
    case CallKind::GroupStart: fields->group = call.aux != 0, fields->depth = true; return;
    case CallKind::GroupEnd: fields->group = call.aux != 0, fields->depth = fields->operations = true; return;
    case CallKind::Launch: fields->kernel = fields->stream = true; return;
    case CallKind::GraphLaunch: fields->graph = fields->stream = true; return;
    case CallKind::Copy: fields->bytes = fields->stream = fields->copy_kind = true; return;
    case CallKind::Fill: fields->bytes = fields->stream = true; return;
    case CallKind::Alloc:
    case CallKind::Free:
      fields->bytes = call.count > 0, fields->device = fields->stream = fields->address = true;
      return;
    case CallKind::DeviceSet:
    case CallKind::DeviceSync: fields->device = true; return;
    case CallKind::StreamQuery: fields->polls = call.count > 0, fields->stream = true; return;
    case CallKind::EventQuery: fields->polls = call.count > 0, fields->event = true; return;
    case CallKind::HostCallback:
    case CallKind::StreamCreate:
    case CallKind::StreamDestroy:
    case CallKind::StreamSync:
    case CallKind::CaptureBegin: fields->stream = true; return;
    case CallKind::CaptureEnd: fields->stream = fields->graph = true; return;
    case CallKind::StreamWait:
    case CallKind::EventRecord: fields->stream = fields->event = true; return;
    case CallKind::EventCreate:
    case CallKind::EventDestroy:
    case CallKind::EventSync: fields->event = true; return;
    case CallKind::GraphCreate:
    case CallKind::GraphDestroy: fields->graph = true; return;
    case CallKind::Register: fields->bytes = true; return;
    case CallKind::OneSided: fields->requests = call.info().shape == CallShape::All; return;
    default: return;
  }
}

}  // namespace

bool IsNccl(const Call& call) { return call.known() && call.info().api == Api::Nccl; }

bool IsCuda(const Call& call) {
  return call.known() && (call.info().api == Api::Cuda || call.info().api == Api::CudaDriver);
}

bool IsGloo(const Call& call) { return call.known() && call.info().api == Api::Gloo; }

bool IsCollective(const Call& call) {
  return call.known() && !IsRefused(call) &&
         (ddbg::IsCollective(call.info().kind) || ddbg::IsCollectiveStart(call.info().kind, call.op));
}

bool CountsOnComm(const Call& call) {
  return IsCollective(call) && call.info().shape != CallShape::CreateGroup && call.comm != 0;
}

bool IsStreamWork(const Call& call) {
  if (!IsNccl(call) || (call.flags & kFlagCapturing)) return false;
  CallKind kind = call.info().kind;
  if (kind == CallKind::Send || kind == CallKind::Recv) return true;
  return kind == CallKind::Collective && (kRoles[call.call - kFirstCall] & MaskOf(Role::Stream)) != 0;
}

bool Accepted(const Call& call) {
  constexpr int32_t kInProgress = 7;
  return call.open() || call.result == 0 || (IsNccl(call) && call.result == kInProgress);
}

bool IsMark(const Call& call) { return call.known() && IsMark(call.info().kind); }

bool IsPoll(const Call& call) {
  if (!call.known()) return false;
  CallKind kind = call.info().kind;
  return kind == CallKind::AsyncError || kind == CallKind::EventQuery || kind == CallKind::StreamQuery;
}

CallFields FieldsOf(const Call& call) {
  CallFields fields;
  if (call.call == kCallCompletion) return FieldsOfEnded(call, fields);
  if (!call.known()) return fields;
  CallKind kind = call.info().kind;
  if (IsCompletionCall(kind)) return FieldsOfCompletionCall(call, fields);
  RoleSet roles = kRoles[call.call - kFirstCall];
  auto has = [&](auto... any) { return (roles & MaskOf(any...)) != 0; };
  if (IsMark(kind)) return FieldsOfMark(call, fields);
  bool second = call.flags & kFlagSecondHalf;
  fields.comm = call.comm != 0;
  fields.seq = ddbg::IsCollective(kind) && !IsRefused(call) && call.comm != 0 &&
               call.info().shape != CallShape::CreateGroup;
  bool nccl = call.info().api == Api::Nccl;
  fields.count = second ? has(Role::RecvCount, Role::Count) : has(Role::Count);
  fields.op = has(Role::Op);
  fields.root = has(Role::Root);
  fields.peer = has(Role::Dest, Role::Source, Role::Message);
  fields.tag = has(Role::Tag, Role::Message);
  fields.recv_side = kind == CallKind::Collective && has(Role::RecvCount) && !call.info().has_request;
  fields.new_comm = kind == CallKind::CommCreate && !call.info().has_request && call.aux != 0;
  fields.code = has(Role::Code);
  fields.polls = kind == CallKind::Probe && (call.flags & kFlagNothingDone);
  if (nccl || IsCuda(call)) {
    fields.stream = nccl && has(Role::Stream);
    fields.operation = fields.stream && call.aux != 0;
    if (has(Role::Bytes) && kind == CallKind::Collective) fields.bytes = true;
    FieldsOfKind(call, &fields);
    return fields;
  }
  if (kind == CallKind::CommInit) fields.ranks = call.count > 0;
  if (kind == CallKind::Start) fields.seq = ddbg::IsCollectiveStart(kind, call.op) && call.comm != 0;
  bool numbered = call.info().has_request && kind != CallKind::SendInit && kind != CallKind::RecvInit;
  fields.operation = numbered && kind != CallKind::CollectiveInit && call.aux != 0 && !call.open();
  if ((call.info().api == Api::Mpi && kind > CallKind::TypeFree) || kind == CallKind::SendInit ||
      kind == CallKind::RecvInit)
    FieldsOfLaterMpi(call, roles, &fields);
  return fields;
}

std::string CallName(const Process& process, const Call& call) {
  if (call.known()) return std::string(call.info().name);
  if (call.call != kUnknownCall) return "";
  if (call.aux < process.call_names.size()) return process.call_names[call.aux];
  return fmt::format("call {}", call.aux);
}

std::string_view MatchName(const Call& call) {
  std::string_view name = call.info().name;
  if (name == "ncclBcast") return "ncclBroadcast";
  if (name == "MPI_Startall") return "MPI_Start";
  return name.starts_with("MPI_") && name.ends_with("_c") ? name.substr(0, name.size() - 2) : name;
}

std::string_view KindName(CallKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::string_view KindName(const Call& call) {
  if (call.call == kCallCompletion) return "completion";
  if (call.call == kCallLost) return "lost";
  return call.known() ? KindName(call.info().kind) : "unknown";
}

std::string_view OpName(uint8_t op) { return op < std::size(kOpNames) ? kOpNames[op] : std::string_view("user"); }

std::string_view OpName(const Call& call) {
  if (!IsNccl(call)) return OpName(call.op);
  switch (call.op) {
    case kOpSum: return "ncclSum";
    case kOpProd: return "ncclProd";
    case kOpMax: return "ncclMax";
    case kOpMin: return "ncclMin";
    case kOpAvg: return "ncclAvg";
    default: return OpName(call.op);
  }
}

std::string_view CopyKindName(const Call& call) {
  constexpr std::string_view kNames[] = {"", "H2H", "H2D", "D2H", "D2D", "default"};
  return call.aux < std::size(kNames) ? kNames[call.aux] : std::string_view();
}

std::string StreamName(const Process& process, int32_t stream) {
  if (stream <= 0) return "";
  auto found = process.streams.find(static_cast<uint32_t>(stream));
  std::string name = fmt::format("stream {}", stream);
  if (found == process.streams.end() || found->second.kind == "created" || found->second.kind.empty()) return name;
  return fmt::format("{} ({})", name, found->second.kind);
}

int32_t DeviceOf(const Process& process, const Call& call) {
  if (!IsNccl(call) && !IsCuda(call)) return -1;
  CallFields fields = FieldsOf(call);
  if (fields.device && call.peer >= 0) return call.peer;
  auto stream = process.streams.find(static_cast<uint32_t>(call.tag));
  if (fields.stream && call.tag > 0 && stream != process.streams.end() && stream->second.device >= 0)
    return stream->second.device;
  auto comm = process.comms.find(call.comm);
  return comm != process.comms.end() && comm->second.nccl ? comm->second.device : -1;
}

std::string KernelName(const Process& process, uint32_t kernel) {
  auto found = process.kernels.find(kernel);
  return kernel == 0 || found == process.kernels.end() ? "" : Demangle(found->second.c_str());
}

std::string MarkName(const Process& process, const Call& call) {
  auto found = process.mark_names.find(static_cast<uint32_t>(call.aux));
  return found == process.mark_names.end() ? "" : found->second;
}

std::string MarkText(const Process& process, const Call& call) {
  auto found = process.mark_names.find(static_cast<uint32_t>(call.aux >> 32));
  return found == process.mark_names.end() ? "" : found->second;
}

double ValueOf(const Call& call) { return std::bit_cast<double>(call.count); }

std::string DatatypeName(const Process& process, uint32_t dtype) {
  auto found = process.dtypes.find(dtype);
  if (dtype == 0 || found == process.dtypes.end()) return "";
  const Datatype& type = found->second;
  if (!type.name.empty()) return type.name;
  if (!type.base.empty() && type.elements > 0) return fmt::format("{} x {}", type.elements, type.base);
  return fmt::format("derived, {} bytes", type.size);
}

std::optional<uint64_t> CallBytes(const Process& process, const Call& call) {
  auto found = process.dtypes.find(call.dtype);
  uint64_t bytes = 0;
  bool negative = static_cast<int64_t>(call.count) < 0;  // an int that the caller got wrong, kept as it was
  if (call.dtype == 0 || found == process.dtypes.end() || negative) return std::nullopt;
  if (__builtin_mul_overflow(call.count, found->second.size, &bytes)) return std::nullopt;
  return bytes;
}

std::string_view PeerWord(int32_t peer) {
  switch (peer) {
    case kAnySource: return "any";
    case kProcNull: return "null";
    case kRootSelf: return "root";
    default: return "";
  }
}

std::string_view TagWord(int32_t tag) { return tag == kAnyTag ? "any" : ""; }

std::string PeerText(int32_t peer) {
  std::string_view word = PeerWord(peer);
  return word.empty() ? std::to_string(peer) : std::string(word);
}

std::string TagText(int32_t tag) {
  std::string_view word = TagWord(tag);
  return word.empty() ? std::to_string(tag) : std::string(word);
}

}  // namespace ddbg::analyzer
