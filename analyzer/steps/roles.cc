#include "analyzer/steps/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "analyzer/model/format.h"
#include "analyzer/steps/comm_use.h"

namespace ddbg::analyzer {
namespace {

enum class Layout { kUnknown, kContiguous, kStrided, kIrregular };

// World ranks of the members, by rank in the communicator.
std::vector<int32_t> MembersOf(const Run& run, const CommGroup& group) {
  if (group.members.empty()) return {};
  const Member& first = group.members[0];
  auto comm = run.processes[first.process].comms.find(first.comm_id);
  if (comm != run.processes[first.process].comms.end() && !comm->second.members.empty()) return comm->second.members;
  std::vector<std::pair<int32_t, int32_t>> by_rank;
  for (const Member& member : group.members)
    by_rank.emplace_back(member.comm_rank, run.processes[member.process].rank());
  std::sort(by_rank.begin(), by_rank.end());
  std::vector<int32_t> members;
  for (const auto& [own, world] : by_rank) members.push_back(world);
  return members;
}

Layout LayoutOf(const std::vector<int32_t>& members) {
  if (members.size() < 2) return Layout::kUnknown;
  int32_t stride = members[1] - members[0];
  for (size_t i = 1; i < members.size(); ++i)
    if (members[i] - members[i - 1] != stride || stride <= 0) return Layout::kIrregular;
  return stride == 1 ? Layout::kContiguous : Layout::kStrided;
}

int32_t WorldSizeOf(const Run& run) {
  int32_t size = 0;
  for (const Process& process : run.processes) size = std::max(size, process.world_size());
  return size;
}

// "dp", "data_parallel_group", "tensor-parallel": words of a name that the program gave.
Role RoleInName(const std::string& name) {
  std::vector<std::string> words(1);
  for (char c : name)
    if (std::isalpha(static_cast<unsigned char>(c)))
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!words.back().empty())
      words.emplace_back();
  for (const std::string& word : words) {
    if (word == "dp" || word == "ddp" || word == "fsdp" || word == "data" || word == "replica" || word == "replicas")
      return Role::kDataParallel;
    if (word == "tp" || word == "tensor") return Role::kTensorParallel;
    if (word == "pp" || word == "pipe" || word == "pipeline") return Role::kPipelineParallel;
    if (word == "ep" || word == "expert" || word == "experts" || word == "moe") return Role::kExpertParallel;
  }
  return Role::kUnknown;
}

Role RoleOfLibrary(const std::string& part) {
  for (Role role : {Role::kDataParallel, Role::kTensorParallel, Role::kPipelineParallel, Role::kExpertParallel})
    if (part == RoleName(role)) return role;
  return Role::kUnknown;
}

// How a communicator is used, seen on its first traced member, and on its last.
struct View {
  const CommGroup& group;
  Layout layout;
  bool spans_all;
  CommUse first, last;
  uint64_t most_bytes = 0;     // of any other communicator of the first member
  bool others_reduce = false;  // another one has reductions or gathers
  size_t steps = 0;            // of the first member
};

double PerStep(const View& view) {
  return view.steps ? static_cast<double>(view.first.in_steps) / static_cast<double>(view.steps) : 0;
}

std::string LayoutText(const View& view) {
  if (view.spans_all) return "all ranks";
  switch (view.layout) {
    case Layout::kContiguous: return fmt::format("{} neighbouring ranks", view.group.size);
    case Layout::kStrided: return fmt::format("{} ranks at equal distances", view.group.size);
    default: return fmt::format("{} ranks", view.group.size);
  }
}

// A chain: each member talks to the one before and the one after it, and within a step data goes down the chain.
CommRole ByMessages(const View& view) {
  const CommUse& use = view.first;
  int32_t own = view.group.members[0].comm_rank, other = view.group.members.back().comm_rank;
  auto neighbours = [](const CommUse& of, int32_t rank) {
    return !of.peers.empty() &&
           std::all_of(of.peers.begin(), of.peers.end(), [&](int32_t peer) { return std::abs(peer - rank) == 1; });
  };
  bool chain = neighbours(use, own) && neighbours(view.last, other) && use.both == 0;
  std::string what =
      fmt::format("{} messages with {} {}", use.messages(), use.peers.size(), use.peers.size() == 1 ? "peer" : "peers");
  if (!chain) return {Role::kUnknown, 0.0, what + ", which are not the neighbours in a chain"};
  bool flows = own == 0 && use.first_is_send && view.group.members.size() > 1 && !view.last.first_is_send;
  if (!flows)
    return {Role::kUnknown, 0.0, what + ", as in a chain, but data does not go down it (a halo exchange looks so)"};
  double confidence = view.steps == 0 ? 0.5 : view.spans_all ? 0.65 : 0.8;
  return {Role::kPipelineParallel, confidence,
          what + ": a chain in which each step begins with a send at one end and a receive at the other"};
}

// Data-parallel or tensor-parallel: by layout, by where in a step and how often.
CommRole ByReductions(const View& view) {
  const CommUse& use = view.first;
  int data = 0, tensor = 0;
  std::vector<std::string> why = {LayoutText(view)};
  double early = use.in_steps ? static_cast<double>(use.early) / static_cast<double>(use.in_steps) : 0.5;
  if (view.layout == Layout::kContiguous && !view.spans_all) tensor += 2;
  if (view.layout == Layout::kStrided) data += 2;
  if (view.spans_all && !view.others_reduce) data += 3;
  if (use.in_steps && view.others_reduce) {
    if (early < 0.2)
      data += 2, why.push_back("at the end of a step");
    else if (early > 0.35)
      tensor += 1, why.push_back("throughout a step");
  }
  if (use.sizes.size() == 1 && PerStep(view) >= 4) tensor += 1;
  if (use.sizes.size() > 2) data += 1;
  if (view.others_reduce) {
    if (use.bytes > view.most_bytes)
      data += 1, why.push_back("most of the bytes");
    else if (PerStep(view) >= 4)
      tensor += 1;
  }
  if (view.group.size > 16 && !view.spans_all) data += 1;
  std::string what =
      fmt::format("{} reductions and {} gathers{}, {}", use.reductions, use.gathers,
                  view.steps ? fmt::format(" ({:.1f} a step)", PerStep(view)) : "", fmt::join(why, ", "));
  int margin = std::abs(data - tensor);
  if (margin == 0) return {Role::kUnknown, 0.0, what + ": data- or tensor-parallel"};
  // Rarely: weights are averaged, not gradients.
  bool rare = view.steps > 0 && use.steps.size() * 2 < std::min<size_t>(view.steps, 512);
  double confidence = std::min(0.9, 0.5 + 0.1 * margin) - (view.steps == 0 ? 0.1 : 0.0) - (rare ? 0.1 : 0.0);
  return {data > tensor ? Role::kDataParallel : Role::kTensorParallel, confidence,
          what + (rare ? ", not in each step" : "")};
}

CommRole ByUse(const View& view) {
  const CommUse& use = view.first;
  bool exchanges = use.exchanges > 0 && use.exchanges * 2 >= use.collectives() && use.exchanges >= use.messages();
  if (exchanges) {
    return {Role::kExpertParallel, view.spans_all ? 0.6 : 0.8,
            fmt::format("{} all-to-all exchanges among {} (a transposition looks the same)", use.exchanges,
                        LayoutText(view))};
  }
  if (use.messages() > use.collectives()) {
    CommRole role = ByMessages(view);
    if (role.role != Role::kUnknown || use.collectives() == 0) return role;
  }
  bool in_loop = view.steps == 0 || use.in_steps * 10 >= view.steps;
  if (use.collectives() >= 3 && in_loop) return ByReductions(view);
  if (use.collectives() > 0) return {Role::kUnknown, 0.0, "hardly used, or not within steps"};
  return {Role::kUnknown, 0.0,
          use.small + use.broadcasts > 0 ? "only a few elements at a time, or broadcasts" : "hardly used"};
}

CommRole RoleOf(const View& view) {
  if (Role named = RoleInName(view.group.name); named != Role::kUnknown)
    return {named, 0.9, fmt::format("the program named it \"{}\"", view.group.name)};
  if (Role known = RoleOfLibrary(view.first.library); known != Role::kUnknown)
    return {known, 0.9, "its calls come from a library's code of that name"};
  CommRole role = ByUse(view);
  if (view.spans_all && role.role == Role::kUnknown) return {Role::kWorld, 1.0, "all ranks; " + role.why};
  if (view.spans_all && role.role != Role::kDataParallel && role.role != Role::kExpertParallel &&
      role.role != Role::kPipelineParallel)
    return {Role::kWorld, 1.0, "all ranks; " + role.why};
  return role;
}

// Of one process's communicators, of which there may be a hundred thousand: each is compared with all others.
class UsesOfProcess {
 public:
  UsesOfProcess() = default;
  explicit UsesOfProcess(std::unordered_map<uint32_t, CommUse> uses) : uses_(std::move(uses)) {
    for (const auto& [id, use] : uses_) {
      if (use.bytes >= most_)
        second_ = std::exchange(most_, use.bytes), most_id_ = id;
      else
        second_ = std::max(second_, use.bytes);
      if (Reduces(use)) ++reducing_;
    }
  }

  CommUse Of(uint32_t id) const {
    auto at = uses_.find(id);
    return at == uses_.end() ? CommUse() : at->second;
  }
  uint64_t MostBytesBut(uint32_t id) const { return id == most_id_ ? second_ : most_; }
  bool OthersReduce(uint32_t id) const { return reducing_ > (Reduces(Of(id)) ? 1u : 0u); }

 private:
  static bool Reduces(const CommUse& use) { return use.reductions + use.gathers > 0; }

  std::unordered_map<uint32_t, CommUse> uses_;
  uint64_t most_ = 0, second_ = 0;
  uint32_t most_id_ = 0;
  size_t reducing_ = 0;
};

}  // namespace

Roles::Roles(const Run& run, const Matching& matching, const Steps& steps) {
  int32_t world = WorldSizeOf(run);
  std::unordered_map<size_t, UsesOfProcess> uses;
  auto use_of = [&](const Member& member) -> CommUse {
    auto [at, fresh] = uses.try_emplace(member.process);
    if (fresh) at->second = UsesOfProcess(UseOfComms(run.processes[member.process], steps.of(member.process)));
    return at->second.Of(member.comm_id);
  };
  for (const CommGroup& group : matching.groups) {
    if (group.members.empty() || group.inter) {
      roles_.push_back({Role::kUnknown, 0.0, group.inter ? "joins two groups" : "no member was traced"});
      continue;
    }
    const Member& first = group.members.front();
    View view{group, LayoutOf(MembersOf(run, group)), world > 1 && static_cast<int64_t>(group.size) >= world,
              use_of(first), use_of(group.members.back())};
    view.steps = steps.of(first.process).size();
    view.most_bytes = uses[first.process].MostBytesBut(first.comm_id);
    view.others_reduce = uses[first.process].OthersReduce(first.comm_id);
    roles_.push_back(RoleOf(view));
  }
}

const char* RoleName(Role role) {
  switch (role) {
    case Role::kWorld: return "world";
    case Role::kDataParallel: return "data_parallel";
    case Role::kTensorParallel: return "tensor_parallel";
    case Role::kPipelineParallel: return "pipeline_parallel";
    case Role::kExpertParallel: return "expert_parallel";
    default: return "unknown";
  }
}

}  // namespace ddbg::analyzer
