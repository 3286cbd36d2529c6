// Communicators over groups (MPI_Comm_create_group) that two of their members make in different orders. Nothing but the
// members' own calls says which belong together, so that they meet wrongly or not at all.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/context/context.h"
#include "analyzer/context/group_creation.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

// A job with more groups and members than that takes too long to compare pair by pair.
constexpr size_t kMostPairs = 1'000'000;

struct Creation {
  size_t call;
  uint64_t parent;
  int32_t tag;
  std::vector<int32_t> group;
  bool IsSame(const Creation& other) const {
    return parent == other.parent && tag == other.tag && group == other.group;
  }
};

using Order = std::vector<Creation>;

class GroupOrderRule {
 public:
  explicit GroupOrderRule(Context& context) : context_(context) {}

  std::vector<Finding> Find() {
    size_t pairs = 0;
    for (size_t i = 0; i < context_.run.processes.size(); ++i) {
      orders_.push_back(OrderOf(i));
      for (const Creation& creation : orders_.back()) pairs += creation.group.size();
    }
    if (pairs == 0 || pairs > kMostPairs) return {};
    for (size_t i = 0; i < orders_.size(); ++i)
      for (size_t j : PeersOf(i))
        if (j > i) Compare(i, j);
    if (finding_.first.process == kNoIndex) return {};
    return {std::move(finding_)};
  }

 private:
  Order OrderOf(size_t index) const {
    const Process& process = context_.process(index);
    Order order;
    if (process.lost_total() > 0) return order;
    for (size_t i = 0; i < process.calls.size(); ++i) {
      const Call& call = process.calls[i];
      if (!call.known() || call.info().api != Api::Mpi || call.info().shape != CallShape::CreateGroup) continue;
      // Nothing orders the calls of two threads, which tags tell apart.
      if (!order.empty() && process.calls[order.back().call].thread != call.thread) return {};
      std::vector<int32_t> group = GroupOf(process, call);
      if (!group.empty()) order.push_back({i, UidOf(process, call), call.tag, std::move(group)});
    }
    return order;
  }

  std::vector<size_t> PeersOf(size_t index) const {
    std::vector<size_t> peers;
    for (const Creation& creation : orders_[index])
      for (int32_t rank : creation.group)
        if (size_t peer = context_.ProcessOfRank(rank); peer != kNoIndex) peers.push_back(peer);
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    return peers;
  }

  static bool Has(const Creation& creation, int32_t rank) {
    return std::binary_search(creation.group.begin(), creation.group.end(), rank);
  }

  // The groups that both are in, one by one.
  void Compare(size_t a, size_t b) {
    const Order &of_a = orders_[a], &of_b = orders_[b];
    size_t i = 0, j = 0;
    for (;; ++i, ++j) {
      while (i < of_a.size() && !Has(of_a[i], context_.rank(b))) ++i;
      while (j < of_b.size() && !Has(of_b[j], context_.rank(a))) ++j;
      if (i == of_a.size() || j == of_b.size()) return;
      if (!of_a[i].IsSame(of_b[j])) return Report(a, of_a[i], b, of_b[j]);
    }
  }

  void Report(size_t a, const Creation& of_a, size_t b, const Creation& of_b) {
    int64_t t_ns = context_.StartNs(b, of_b.call);
    if (finding_.first.process != kNoIndex && finding_.first.t_ns <= t_ns) return;
    finding_ = Finding{};
    finding_.kind = "group_creation_mismatch";
    finding_.failure_class = "control_flow_divergence";
    finding_.proof = Proof::kMismatch;
    finding_.first = context_.Event(b, of_b.call);
    finding_.first.field = "group";
    finding_.first.expected = RankList(of_a.group);
    finding_.first.actual = RankList(of_b.group);
    finding_.culprit_ranks = {context_.rank(a), context_.rank(b)};
    std::sort(finding_.culprit_ranks.begin(), finding_.culprit_ranks.end());
    std::string line_a = context_.Line(a, of_a.call), line_b = context_.Line(b, of_b.call);
    finding_.summary = fmt::format(
        "Rank {} makes a communicator of {} with {}{}, where rank {}, which is in both groups, makes one of {}{}: all "
        "members "
        "must make them in one order.",
        context_.rank(b), RankList(of_b.group), context_.Describe(b, of_b.call), line_b.empty() ? "" : " at " + line_b,
        context_.rank(a), RankList(of_a.group), line_a.empty() ? "" : " at " + line_a);
    for (size_t each : {a, b})
      finding_.evidence.push_back(fmt::format("rank {} is {}", context_.rank(each), context_.WhereIs(each)));
    finding_.confidence = 0.95;
  }

  Context& context_;
  std::vector<Order> orders_;
  Finding finding_;
};

}  // namespace

std::vector<Finding> FindGroupOrder(Context& context) { return GroupOrderRule(context).Find(); }

}  // namespace ddbg::analyzer
