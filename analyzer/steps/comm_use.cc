#include "analyzer/steps/comm_use.h"

#include <string_view>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr uint64_t kFewElements = 16;
constexpr size_t kMostSizes = 64, kMostSteps = 512, kMostPeers = 64;

// Parts of libraries that say what they communicate for, by the file of a Python frame.
constexpr std::pair<std::string_view, std::string_view> kLibraries[] = {
    {"tensor_parallel", "tensor_parallel"},
    {"sequence_parallel", "tensor_parallel"},
    {"pipeline_parallel", "pipeline_parallel"},
    {"pipelining", "pipeline_parallel"},
    {"p2p_communication", "pipeline_parallel"},
    {"token_dispatcher", "expert_parallel"},
    {"/moe/", "expert_parallel"},
    {"fsdp", "data_parallel"},
    {"nn/parallel/distributed", "data_parallel"},
    {"param_and_grad_buffer", "data_parallel"},
    {"zero/stage", "data_parallel"},
    {"distrib_optimizer", "data_parallel"},
};

std::string LibraryOf(const Process& process, uint32_t stack) {
  auto frames = process.python_by_stack_id.find(stack);
  if (frames == process.python_by_stack_id.end()) return "";
  for (const PythonFrame& frame : frames->second) {
    auto code = process.python_codes.find(frame.code);
    if (code == process.python_codes.end()) continue;
    for (const auto& [part, role] : kLibraries)
      if (code->second.file.find(part) != std::string::npos) return std::string(role);
  }
  return "";
}

bool Has(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

void AddCollective(const Call& call, CommUse* use, bool* counts) {
  std::string_view name = call.info().name;
  uint64_t count = call.count;
  *counts = false;
  if (Has(name, "lltoall") || Has(name, "lltoAll") || Has(name, "llToAll")) {
    ++use->exchanges;
    *counts = true;
  } else if (call.info().shape == CallShape::Bcast || Has(name, "roadcast") || Has(name, "ncclBcast")) {
    ++use->broadcasts;
  } else if (bool reduces =
                 call.op != kOpNone && !Has(name, "MPI_Reduce") && name != "ncclReduce" && !Has(name, "Ireduce");
             reduces || Has(name, "educe_scatter") || Has(name, "llgather") || Has(name, "llGather")) {
    if (count <= kFewElements) return static_cast<void>(++use->small);
    ++(Has(name, "llgather") || Has(name, "llGather") ? use->gathers : use->reductions);
    if (use->sizes.size() < kMostSizes) use->sizes.insert(count);
    *counts = true;
  }
}

}  // namespace

std::unordered_map<uint32_t, CommUse> UseOfComms(const Process& process, const std::vector<Step>& steps) {
  std::unordered_map<uint32_t, CommUse> uses;
  std::unordered_map<uint32_t, size_t> first_sends, first_receives;  // by communicator: steps that begin with one
  std::unordered_map<uint32_t, int64_t> last_step;
  std::unordered_map<uint32_t, bool> asked;  // stacks
  size_t at = 0;
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!call.known() || call.comm == 0 || (call.flags & (kFlagSecondHalf | kFlagNested))) continue;
    while (at < steps.size() && steps[at].end_call <= i) ++at;
    const Step* step = at < steps.size() && steps[at].first_call <= i ? &steps[at] : nullptr;
    CommUse& use = uses[call.comm];
    CallKind kind = call.info().kind;
    bool send = kind == CallKind::Send, receive = kind == CallKind::Recv || kind == CallKind::Mrecv;
    if (send || receive || kind == CallKind::Sendrecv) {
      ++(send ? use.sends : receive ? use.receives : use.both);
      if (call.peer >= 0 && use.peers.size() < kMostPeers) use.peers.insert(call.peer);
      use.bytes += CallBytes(process, call).value_or(0);
      auto [last, fresh] = last_step.try_emplace(call.comm, -1);
      if (step && last->second != step->number) {
        last->second = step->number;
        if (send) ++first_sends[call.comm];
        if (receive) ++first_receives[call.comm];
      }
    } else if (kind == CallKind::Collective) {
      bool counts = false;
      AddCollective(call, &use, &counts);
      if (!counts) continue;
      use.bytes += CallBytes(process, call).value_or(0);
      if (step) {
        ++use.in_steps;
        use.early += (i - step->first_call) * 2 < step->end_call - step->first_call;
        if (use.steps.size() < kMostSteps) use.steps.insert(step->number);
      }
    } else {
      continue;
    }
    if (use.library.empty() && call.stack && asked.try_emplace(call.stack, true).second)
      use.library = LibraryOf(process, call.stack);
  }
  for (auto& [comm, use] : uses) use.first_is_send = first_sends[comm] > first_receives[comm];
  return uses;
}

}  // namespace ddbg::analyzer
