#include "analyzer/steps/step_calls.h"

#include <functional>
#include <string>
#include <vector>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/stacks/fingerprint.h"

namespace ddbg::analyzer {
namespace {

uint64_t Join(uint64_t hash, uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  hash *= 0xd6e8feb86659fd93ull;
  return hash ^ (hash >> 32);
}

bool IsMessage(CallKind kind) {
  return kind == CallKind::Send || kind == CallKind::Recv || kind == CallKind::Sendrecv || kind == CallKind::Mrecv ||
         kind == CallKind::Start;
}

bool IsRooted(CallShape shape) {
  return shape == CallShape::Bcast || shape == CallShape::Scatter || shape == CallShape::SameRoot;
}

bool OnlyInit(const CallInfo& info) {
  if (info.kind != CallKind::Collective) return info.kind == CallKind::CommCreate;
  return IsRooted(info.shape) || info.name == "ncclBroadcast" || info.name == "ncclBcast";
}

// In the functions of an optimizer that gradients are clipped or looked at in, by PyTorch's, Apex's, DeepSpeed's names.
bool EndsStep(const Process& process, uint32_t stack, std::unordered_map<uint32_t, bool>* known) {
  auto [at, fresh] = known->try_emplace(stack, false);
  if (!fresh) return at->second;
  auto frames = process.python_by_stack_id.find(stack);
  if (frames == process.python_by_stack_id.end()) return false;
  for (const PythonFrame& frame : frames->second) {
    auto code = process.python_codes.find(frame.code);
    if (code == process.python_codes.end()) continue;
    for (const char* part : {"clip_grad", "grad_norm", "unscale_", "found_inf"})
      at->second = at->second || code->second.name.find(part) != std::string::npos;
  }
  return at->second;
}

}  // namespace

bool IsStepCall(const Call& call) {
  if (!call.known() || (call.flags & kFlagSecondHalf)) return false;
  const CallInfo& info = call.info();
  bool device = info.api == Api::Cuda || info.api == Api::CudaDriver;
  if (device) return info.kind == CallKind::GraphLaunch && !(call.flags & kFlagNested);
  if (info.api == Api::Nccl && (call.flags & (kFlagCapturing | kFlagNested))) return false;
  return info.kind == CallKind::Collective || info.kind == CallKind::CommCreate || info.kind == CallKind::Fence ||
         IsMessage(info.kind);
}

CallKinds::CallKinds(const Process& process) : process_(process) { FindCommsOfLoops(); }

void CallKinds::FindCommsOfLoops() {
  constexpr size_t kMany = 4;
  if (process_.comms.size() < kMany) return;
  std::unordered_map<uint64_t, std::vector<uint32_t>> places;
  for (const Call& call : process_.calls) {
    if (!call.known() || call.stack == 0) continue;
    CallKind kind = call.info().kind;
    uint32_t made = kind == CallKind::CommCreate && !call.info().has_request ? static_cast<uint32_t>(call.aux)
                    : kind == CallKind::CommInit                             ? call.comm
                                                                             : 0;
    auto comm = process_.comms.find(made);
    if (made == 0 || comm == process_.comms.end() || Site(call) == 0) continue;
    places[Join(Join(call.call, Site(call)), comm->second.size)].push_back(made);
  }
  for (const auto& [place, comms] : places)
    for (uint32_t comm : comms)
      if (comms.size() >= kMany) loop_comms_[comm] = place;
}

uint64_t CallKinds::Comm(uint32_t id) const {
  auto place = loop_comms_.find(id);
  return place == loop_comms_.end() ? id : place->second;
}

uint64_t CallKinds::Site(const Call& call) {
  if (call.stack == 0) return 0;
  auto [site, fresh] = sites_.try_emplace(call.stack);
  if (fresh) site->second = SiteKey(process_, call.stack);
  return site->second;
}

uint64_t CallKinds::Exact(const Call& call) {
  auto comm = process_.comms.find(call.comm);
  auto type = process_.dtypes.find(call.dtype);
  uint64_t hash = Join(call.call, Site(call));
  hash = Join(hash, comm == process_.comms.end() ? 0 : comm->second.uid);
  hash = Join(hash, call.count);
  return Join(hash, type == process_.dtypes.end() ? 0 : type->second.size);
}

uint64_t CallKinds::Alike(const Call& call) {
  auto [name, fresh] = comm_names_.try_emplace(call.comm);
  if (fresh) {
    auto place = loop_comms_.find(call.comm);
    name->second = place == loop_comms_.end() ? std::hash<std::string>()(CommName(process_, call.comm)) : place->second;
  }
  return Join(Join(call.call, Site(call)), name->second);
}

StepCalls StepCallsOf(const Process& process) {
  StepCalls out;
  std::unordered_map<uint32_t, bool> ends_step;  // by stack
  CallKinds kinds(process);
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!IsStepCall(call)) continue;
    const CallInfo& info = call.info();
    LoopCall step;
    step.family = Join(Join(call.call, kinds.Site(call)), kinds.Comm(call.comm));
    if (IsMessage(info.kind)) step.family = Join(step.family, static_cast<uint32_t>(call.peer));
    if (info.kind == CallKind::GraphLaunch) step.family = Join(step.family, call.aux);
    step.count = IsMessage(info.kind) || info.kind == CallKind::Collective ? call.count : 0;
    step.bytes = CallBytes(process, call).value_or(0);
    step.comm = call.comm;
    step.reduces = call.op != kOpNone && info.kind == CallKind::Collective;
    step.only_init = OnlyInit(info);
    step.ends_step = step.reduces && EndsStep(process, call.stack, &ends_step);
    step.has_site = kinds.Site(call) != 0;
    step.start_ns = call.start_ns;
    step.duration_ns = call.open() ? 0 : call.duration_ns;
    out.calls.push_back(step);
    out.index.push_back(i);
  }
  return out;
}

}  // namespace ddbg::analyzer
