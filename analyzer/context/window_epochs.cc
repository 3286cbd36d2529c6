#include "analyzer/context/window_epochs.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "analyzer/context/group_creation.h"
#include "analyzer/model/losses.h"

namespace ddbg::analyzer {
namespace {

constexpr std::string_view kStart = "MPI_Win_start", kPost = "MPI_Win_post", kComplete = "MPI_Win_complete";
constexpr int32_t kUnchecked = 1;  // Call::tag of a start: with MPI_MODE_NOCHECK, which waits for nobody

// A process's calls of epochs on one window, up to `end`, an index into its calls.
class Epochs {
 public:
  Epochs(const Context& context, size_t process, uint64_t window, size_t end) : process_(context.process(process)) {
    int64_t until_ns = context.situation(process).until_ns;
    for (size_t i = 0; i < std::min(end, process_.calls.size()); ++i) {
      const Call& call = process_.calls[i];
      if (call.known() && call.info().kind == CallKind::Epoch && call.start_ns < until_ns &&
          UidOf(process_, call) == window && (call.open() || call.result == 0))
        calls_.push_back(i);
    }
  }

  const std::vector<size_t>& calls() const { return calls_; }
  std::string_view Name(size_t call) const { return process_.calls[call].info().name; }

  // The last call of this name; kNoIndex if there is none.
  size_t Last(std::string_view name) const {
    for (size_t i = calls_.size(); i-- > 0;)
      if (Name(calls_[i]) == name) return calls_[i];
    return kNoIndex;
  }

  size_t CountNaming(std::string_view name, int32_t rank) const {
    return static_cast<size_t>(
        std::count_if(calls_.begin(), calls_.end(), [&](size_t i) { return Name(i) == name && Names(i, rank); }));
  }

  // Completes of what a start began that names the rank.
  size_t CountCompletes(int32_t rank) const {
    size_t count = 0;
    bool named = false;
    for (size_t i : calls_) {
      if (Name(i) == kStart) named = Names(i, rank);
      if (Name(i) == kComplete) count += named;
    }
    return count;
  }

 private:
  // Of thousands of epochs few have a group of their own.
  bool Names(size_t call, int32_t rank) const {
    auto [known, fresh] = names_.try_emplace({process_.calls[call].aux, rank});
    if (!fresh) return known->second;
    std::vector<int32_t> group = GroupOf(process_, process_.calls[call]);
    return known->second = std::binary_search(group.begin(), group.end(), rank);
  }

  const Process& process_;
  std::vector<size_t> calls_;
  mutable std::map<std::pair<uint64_t, int32_t>, bool> names_;  // by group and rank
};

}  // namespace

// All of its epochs on the window are there, with their groups.
bool WindowEpochs::IsCounted(size_t process, uint64_t window) const {
  const Process& p = context_.process(process);
  if (LacksCalls(p) || p.dropped.until_ns > 0) return false;
  Epochs epochs(context_, process, window, p.calls.size());
  return std::none_of(epochs.calls().begin(), epochs.calls().end(), [&](size_t i) {
    bool names = epochs.Name(i) == kStart || epochs.Name(i) == kPost;
    return names && p.calls[i].aux == 0;
  });
}

void WindowEpochs::AddCall(size_t process, size_t index, WaitNode* node) {
  const Call& call = context_.call(process, index);
  uint64_t window = UidOf(context_.process(process), call);
  if (window == 0 || !IsCounted(process, window)) return;
  if (call.info().kind == CallKind::Epoch && call.info().name == "MPI_Win_wait")
    AddCompletes(process, index, node);
  else if (call.info().kind == CallKind::Rma || call.info().name == kStart || call.info().name == kComplete)
    AddPosts(process, index, node);
}

void WindowEpochs::AddPosts(size_t process, size_t index, WaitNode* node) {
  const Process& p = context_.process(process);
  uint64_t window = UidOf(p, p.calls[index]);
  Epochs own(context_, process, window, index + 1);
  size_t start = own.Last(kStart), complete = own.Last(kComplete);
  bool over = complete != kNoIndex && complete != index && start != kNoIndex && complete > start;
  if (start == kNoIndex || over || p.calls[start].tag == kUnchecked) return;
  for (int32_t rank : GroupOf(p, p.calls[start])) {
    size_t target = context_.ProcessOfRank(rank);
    if (target == kNoIndex || target == process || !IsCounted(target, window)) continue;
    if (p.calls[index].info().kind == CallKind::Rma &&
        WorldRank(p.comms.at(p.calls[index].comm), p.calls[index].peer) != rank)
      continue;
    Epochs theirs(context_, target, window, context_.process(target).calls.size());
    if (theirs.CountNaming(kPost, context_.rank(process)) < own.CountNaming(kStart, rank))
      AddEdge(process, index, target, "MPI_Win_post", node);
  }
}

void WindowEpochs::AddCompletes(size_t process, size_t index, WaitNode* node) {
  const Process& p = context_.process(process);
  uint64_t window = UidOf(p, p.calls[index]);
  Epochs own(context_, process, window, index + 1);
  size_t post = own.Last(kPost);
  if (post == kNoIndex) return;
  for (int32_t rank : GroupOf(p, p.calls[post])) {
    size_t origin = context_.ProcessOfRank(rank);
    if (origin == kNoIndex || origin == process || !IsCounted(origin, window)) continue;
    Epochs theirs(context_, origin, window, context_.process(origin).calls.size());
    if (theirs.CountCompletes(context_.rank(process)) < own.CountNaming(kPost, rank))
      AddEdge(process, index, origin, "MPI_Win_complete", node);
  }
}

void WindowEpochs::AddEdge(size_t process, size_t index, size_t to, const char* awaits, WaitNode* node) {
  if (node->edges.size() >= most_edges_) return;
  WaitEdge edge{
      to,   context_.rank(to), WaitKind::kEpoch, UidOf(context_.process(process), context_.call(process, index)), 0,
      index};
  edge.awaits = awaits;
  node->edges.push_back(edge);
}

}  // namespace ddbg::analyzer
