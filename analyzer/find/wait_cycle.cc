#include "analyzer/find/wait_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "analyzer/find/held_lock.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kFreshNs = 1'000'000'000;

// In a cycle nothing can change any more. This only keeps out what was read while it was changing.
constexpr double kCycleSeconds = 0.5;
// Of streams it is known what was put on them, not that it is undone: then somebody must be seen waiting.
constexpr double kStreamCycleSeconds = 2.0;
// Small messages of NCCL may be done before their receiver comes.
constexpr double kMessageCycleSeconds = 10.0;

// What the processes of a cycle wait for.
struct Ties {
  std::set<uint64_t> comms;  // of collectives
  bool collectives = false, messages = false, locks = false, epochs = false;

  void Add(const Context& context, size_t process, const WaitEdge& edge) {
    const Call& call = context.call(process, edge.call);
    bool collective = IsCollective(call), window = edge.kind == WaitKind::kLock || edge.kind == WaitKind::kEpoch;
    if (collective) comms.insert(UidOf(context.process(process), call));
    collectives = collectives || collective;
    messages = messages || (!collective && !window);
    locks = locks || edge.kind == WaitKind::kLock;
    epochs = epochs || edge.kind == WaitKind::kEpoch;
  }

  const char* Kind() const {
    bool others = messages || epochs;
    if (locks) return collectives || others ? "wait_cycle" : "order_inversion";
    if (!collectives) return epochs ? "wait_cycle" : "p2p_deadlock";
    return !others && comms.size() > 1 ? "order_inversion" : "wait_cycle";
  }
};

class CycleRule {
 public:
  CycleRule(Context& context, const std::vector<WaitNode>& nodes) : context_(context), nodes_(nodes) {}

  std::vector<Finding> Find() {
    FindCycle(false);
    if (findings_.empty()) FindCycle(true);
    return std::move(findings_);
  }

 private:
  // From each waiting node along first edges that lead to waiting ones: where a walk comes back is a cycle. `perhaps`:
  // programs that ask for their streams' work now and then count as waiting for it.
  void FindCycle(bool perhaps) {
    std::vector<size_t> walk(nodes_.size(), 0);  // the last one that came by, by its start + 1; 0: none
    for (size_t start = 0; start < nodes_.size(); ++start) {
      std::vector<size_t> path;
      std::vector<WaitEdge> edges;
      size_t at = start;
      while (Waits(at, perhaps)) {
        // A walk that was here before led nowhere, and each node has one way on.
        if (walk[at] != 0 && walk[at] != start + 1) break;
        if (std::exchange(walk[at], start + 1) == start + 1) {
          size_t begin = std::find(path.begin(), path.end(), at) - path.begin();
          path.erase(path.begin(), path.begin() + begin);
          edges.erase(edges.begin(), edges.begin() + begin);
          if (!IsSeenWaiting(path, edges)) break;
          ReportCycle(path, edges, perhaps);
          return;
        }
        path.push_back(at);
        const WaitEdge* next = NextWaiting(at, perhaps);
        if (!next) break;
        edges.push_back(*next);
        at = next->to;
      }
    }
  }

  bool Waits(size_t at, bool perhaps) const {
    const WaitNode& node = nodes_[at];
    if (perhaps && node.stand == Stand::kOwnCode) return !node.perhaps.empty();
    return node.stand == Stand::kWaiting && !node.any_suffices && node.seconds >= kCycleSeconds;
  }

  const WaitEdge* NextWaiting(size_t at, bool perhaps) const {
    for (const WaitEdge& edge : nodes_[at].edges)
      if (edge.to != kNoIndex && Waits(edge.to, perhaps)) return &edge;
    for (const WaitEdge& edge : nodes_[at].perhaps)
      if (perhaps && edge.to != kNoIndex && Waits(edge.to, perhaps)) return &edge;
    return nullptr;
  }

  // Of a process: how long its program has waited, by a call that is open or by asking again and again, for a stream.
  double SeenWaiting(size_t process) const {
    double longest = nodes_[process].stand == Stand::kWaiting ? nodes_[process].seconds : 0;
    for (size_t lane : context_.replay.first_lane[process]) {
      const StreamLane& stream = context_.replay.Of(context_.replay.lanes[lane]);
      longest = std::max(longest, static_cast<double>(stream.polled_until_ns - stream.polled_from_ns) / 1e9);
    }
    return longest > 0 || SeesCuda(process) ? longest : IdleSeconds(process);
  }

  // Of a program whose calls of CUDA are not recorded a wait shows in that it calls nothing any more.
  bool SeesCuda(size_t process) const {
    const std::vector<Call>& calls = context_.process(process).calls;
    return std::any_of(calls.begin(), calls.end(), [](const Call& call) { return IsCuda(call); });
  }

  double IdleSeconds(size_t process) const {
    const Situation& s = context_.situation(process);
    if (s.last_call == kNoIndex || s.open_call != kNoIndex) return 0;
    return static_cast<double>(context_.situations.end_ns - context_.EndNs(process, s.last_call)) / 1e9;
  }

  bool IsSeenWaiting(const std::vector<size_t>& path, const std::vector<WaitEdge>& edges) const {
    bool streams = std::any_of(path.begin(), path.end(), [&](size_t at) { return nodes_[at].is_stream(); });
    if (!streams || context_.situations.hang_ended()) return true;
    bool messages = std::none_of(edges.begin(), edges.end(),
                                 [](const WaitEdge& edge) { return edge.kind == WaitKind::kCollective; });
    double least = messages ? kMessageCycleSeconds : kStreamCycleSeconds;
    return std::any_of(path.begin(), path.end(), [&](size_t at) { return SeenWaiting(nodes_[at].process) >= least; });
  }

  void ReportCycle(const std::vector<size_t>& path, const std::vector<WaitEdge>& edges, bool perhaps) {
    Finding finding;
    finding.proof = Proof::kCycle;
    Ties ties;
    size_t first = kNoIndex;
    int64_t closed_ns = 0;
    std::vector<size_t> processes;
    for (size_t i = 0; i < path.size(); ++i) {
      size_t process = nodes_[path[i]].process;
      if (processes.empty() || processes.back() != process) processes.push_back(process);
      if (edges[i].call == kNoIndex || edges[i].kind == WaitKind::kDevice) continue;
      ties.Add(context_, process, edges[i]);
      closed_ns = std::max(closed_ns, StartOf(path, edges, i));
      if (first == kNoIndex || StartOf(path, edges, i) < StartOf(path, edges, first)) first = i;
    }
    if (first == kNoIndex) return;
    size_t process = nodes_[path[first]].process;
    finding.kind = ties.Kind();
    finding.first = context_.Event(process, edges[first].call);
    finding.first.t_ns = closed_ns;
    finding.first.field = "order";
    finding.first.actual = context_.Describe(process, edges[first].call);
    finding.first.expected =
        ties.collectives || ties.locks ? "one order on all ranks" : "a matching call of the peer, which itself waits";
    // Sends of a living job that were just begun may be small enough to return by themselves.
    bool fresh = context_.run.live && !ties.collectives && !ties.locks && !ties.epochs &&
                 context_.situations.end_ns - closed_ns < kFreshNs;
    finding.confidence = perhaps || fresh ? 0.7 : 1.0;
    DescribeCycle(processes, path, process, edges[first].call, &finding);
    if (ties.locks) TellOfLocks(path, edges, &finding);
    if (ties.epochs) TellOfEpochs(path, edges, &finding);
    findings_.push_back(std::move(finding));
  }

  // Where locks alone make the circle they are taken in different orders. Else somebody who holds one waits for a rank
  // that needs it, and the event is that lock.
  void TellOfLocks(const std::vector<size_t>& path, const std::vector<WaitEdge>& edges, Finding* finding) {
    size_t first = kNoIndex;
    std::string held;
    for (size_t i = 0; i < path.size(); ++i) {
      if (edges[i].kind != WaitKind::kLock) continue;
      std::string text = HeldLockText(context_, nodes_[path[i]].process, edges[i]);
      held += (held.empty() ? "" : ". ") + Capitalized(text);
      finding->evidence.push_back(std::move(text));
      if (first == kNoIndex ||
          context_.StartNs(edges[i].to, edges[i].lock) < context_.StartNs(edges[first].to, edges[first].lock))
        first = i;
    }
    bool ordered = finding->kind == "order_inversion";
    finding->summary = fmt::format("{} wait for each other in a circle. {}. {}", RankList(finding->culprit_ranks), held,
                                   ordered ? "Each rank must take these locks in one order."
                                           : "Who holds a lock must not wait for a rank that needs it.");
    if (ordered) return;
    int64_t closed_ns = finding->first.t_ns;
    finding->first = HeldLockEvent(context_, edges[first]);
    finding->first.t_ns = closed_ns;
  }

  // What a peer has not called shows in no call that is open.
  void TellOfEpochs(const std::vector<size_t>& path, const std::vector<WaitEdge>& edges, Finding* finding) {
    for (size_t i = 0; i < path.size(); ++i) {
      if (edges[i].kind != WaitKind::kEpoch) continue;
      size_t process = nodes_[path[i]].process;
      std::string text = fmt::format("rank {} waits in {} for the {} of rank {}", context_.rank(process),
                                     context_.Describe(process, edges[i].call), edges[i].awaits, edges[i].to_rank);
      finding->summary += fmt::format(" {}.", Capitalized(text));
      finding->evidence.push_back(std::move(text));
    }
  }

  int64_t StartOf(const std::vector<size_t>& path, const std::vector<WaitEdge>& edges, size_t i) const {
    return context_.StartNs(nodes_[path[i]].process, edges[i].call);
  }

  void DescribeCycle(std::vector<size_t> processes, const std::vector<size_t>& path, size_t process, size_t call,
                     Finding* finding) {
    if (processes.size() > 1 && processes.back() == processes.front()) processes.pop_back();
    std::string chain;
    for (size_t each : processes) {
      finding->culprit_ranks.push_back(context_.rank(each));
      chain += fmt::format("{}→", context_.rank(each));
    }
    chain += fmt::format("{}", context_.rank(processes[0]));
    std::sort(finding->culprit_ranks.begin(), finding->culprit_ranks.end());
    finding->culprit_ranks.erase(std::unique(finding->culprit_ranks.begin(), finding->culprit_ranks.end()),
                                 finding->culprit_ranks.end());
    bool open = context_.situation(process).open_call == call;
    std::string line = context_.Line(process, call);
    finding->summary = fmt::format(
        "{} wait for each other in a circle ({}): rank {} {} {}{}. The pattern is to blame, no single rank.",
        RankList(finding->culprit_ranks), chain, context_.rank(process), open ? "is in" : "has called",
        context_.Describe(process, call), line.empty() ? "" : " at " + line);
    for (size_t at : path)
      finding->evidence.push_back(
          fmt::format("rank {} is {}", context_.rank(nodes_[at].process), WhereIs(context_, nodes_[at])));
  }

  Context& context_;
  const std::vector<WaitNode>& nodes_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> FindWaitCycle(Context& context, const std::vector<WaitNode>& nodes) {
  return CycleRule(context, nodes).Find();
}

}  // namespace ddbg::analyzer
