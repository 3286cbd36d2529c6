// Rules 3 to 5: a rank that never made the call its peers wait in, a cycle of waits, and a call that all have entered
// and nobody leaves.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/describe.h"
#include "analyzer/find/divergence.h"
#include "analyzer/waits.h"

namespace ddbg::analyzer {
namespace {

// Peers of a rank that computes wait in every healthy job; only a wait much longer than this run's own is told.
constexpr double kSuspiciousSeconds = 3.0;
constexpr double kTimesUsual = 5.0;
constexpr double kNoProgressSeconds = 10.0;
// In a cycle nothing can change any more. This only keeps out what was read while it was changing.
constexpr double kCycleSeconds = 0.5;

class WaitsRule {
 public:
  explicit WaitsRule(Context& context) : context_(context), nodes_(BuildWaits(context)) {}

  std::vector<Finding> Find() {
    FindAbsent();
    if (findings_.empty()) FindCycle();
    if (findings_.empty()) FindNoProgress();
    return std::move(findings_);
  }

 private:
  struct Waiter {
    size_t process;
    WaitEdge edge;
  };

  // Everyone who waits for `target` itself.
  std::vector<Waiter> WaitersFor(size_t target, int32_t rank) const {
    std::vector<Waiter> waiters;
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (const WaitEdge& edge : nodes_[i].edges)
        if (edge.to == target && edge.to_rank == rank) {
          waiters.push_back({i, edge});
          break;
        }
    return waiters;
  }

  void FindAbsent() {
    for (bool permanent : {true, false}) {
      std::map<std::pair<uint64_t, size_t>, std::vector<size_t>> absent;  // (comm, seq) → processes
      std::map<std::pair<uint64_t, size_t>, std::vector<Waiter>> waiting;
      for (size_t target = 0; target < nodes_.size(); ++target) {
        if (!IsAbsent(target, permanent)) continue;
        std::vector<Waiter> waiters = WaitersFor(target, context_.rank(target));
        if (waiters.empty() || (!permanent && !IsLongerThanUsual(target, waiters))) continue;
        const WaitEdge& edge = waiters[0].edge;
        auto key = std::make_pair(edge.comm_uid, edge.kind == WaitKind::kCollective ? edge.seq : kNoIndex);
        absent[key].push_back(target);
        for (const Waiter& waiter : waiters)
          if (std::none_of(waiting[key].begin(), waiting[key].end(),
                           [&](const Waiter& seen) { return seen.process == waiter.process; }))
            waiting[key].push_back(waiter);
      }
      for (const auto& [key, targets] : absent) ReportAbsent(targets, waiting[key], permanent);
      if (!findings_.empty()) return;
    }
  }

  bool IsAbsent(size_t target, bool permanent) const {
    Stand stand = nodes_[target].stand;
    if (!permanent) return stand == Stand::kOwnCode;
    if (stand == Stand::kFinalize) return true;
    // A death is a finding of its own kind, with the waiters as its evidence.
    return stand == Stand::kEnded && context_.situation(target).end != EndCause::kOwn;
  }

  double LongestWait(const std::vector<Waiter>& waiters) const {
    double longest = 0;
    for (const Waiter& waiter : waiters) longest = std::max(longest, nodes_[waiter.process].seconds);
    return longest;
  }

  // Longest stay of the rank in its own code before.
  double UsualGap(size_t process) const {
    const std::vector<Call>& calls = context_.process(process).calls;
    int64_t longest = 0, left = 0;
    for (const Call& call : calls) {
      if (!call.known() || call.open()) continue;
      if (left && call.start_ns > left) longest = std::max(longest, call.start_ns - left);
      left = std::max(left, call.start_ns + call.duration_ns);
    }
    return static_cast<double>(longest) / 1e9;
  }

  bool IsLongerThanUsual(size_t target, const std::vector<Waiter>& waiters) const {
    double wait = LongestWait(waiters);
    return wait >= kSuspiciousSeconds && wait >= kTimesUsual * UsualGap(target);
  }

  void ReportAbsent(const std::vector<size_t>& targets, const std::vector<Waiter>& waiters, bool permanent) {
    const Waiter& waiter = waiters[0];
    size_t target = targets[0];
    const Situation& s = context_.situation(target);
    Finding finding;
    finding.proof = permanent ? Proof::kMissing : Proof::kTiming;
    finding.kind = permanent ? "early_exit" : "stall";
    for (size_t each : targets) finding.culprit_ranks.push_back(context_.rank(each));
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    finding.first = context_.Event(target, s.open_call != kNoIndex ? s.open_call : s.last_call);
    BadEvent awaited = context_.Event(waiter.process, waiter.edge.call);
    finding.first.comm = awaited.comm;
    finding.first.comm_uid = awaited.comm_uid;
    finding.first.seq = awaited.seq;
    finding.first.field = "arrival";
    finding.first.expected = awaited.call_name;
    finding.first.actual = context_.WhereIs(target);
    finding.first.call_name = awaited.call_name;
    // From when on it could not come right any more.
    finding.first.t_ns = std::max(awaited.t_ns, finding.first.t_ns);
    std::vector<int32_t> waiting_ranks;
    for (const Waiter& each : waiters) waiting_ranks.push_back(context_.rank(each.process));
    std::sort(waiting_ranks.begin(), waiting_ranks.end());
    std::string line = context_.Line(waiter.process, waiter.edge.call);
    finding.summary = fmt::format(
        "{} never {} the {}{} that {} {} for: {} is {}.", RankList(finding.culprit_ranks),
        waiter.edge.kind == WaitKind::kCollective ? "entered" : "took its part in",
        context_.Describe(waiter.process, waiter.edge.call), line.empty() ? "" : " (" + line + ")",
        RankList(waiting_ranks), waiting_ranks.size() == 1 ? "waits" : "wait",
        targets.size() == 1 ? "it" : fmt::format("rank {}", context_.rank(target)), context_.WhereIs(target));
    for (const Waiter& each : waiters)
      finding.evidence.push_back(
          fmt::format("rank {} is {}", context_.rank(each.process), context_.WhereIs(each.process)));
    for (size_t each : targets)
      finding.evidence.push_back(fmt::format("rank {} is {}", context_.rank(each), context_.WhereIs(each)));
    finding.confidence = permanent ? 0.95 : 0.6;
    MarkInterpreterExit(target, &finding);
    const CommGroup* group = context_.matching.Group(waiter.edge.comm_uid);
    if (group && waiter.edge.kind == WaitKind::kCollective) ExplainByShift(context_, *group, waiter.edge.seq, &finding);
    findings_.push_back(std::move(finding));
  }

  void MarkInterpreterExit(size_t target, Finding* finding) {
    const Situation& s = context_.situation(target);
    if (s.open_call == kNoIndex || !context_.CalledFromExit(target, s.open_call)) return;
    finding->evidence.push_back(
        "its MPI_Finalize was called while the process was exiting, not by the program's own text: the main program "
        "ended first, as after an uncaught exception or an early return");
  }

  // From each waiting process along first edges that lead to waiting ones: where a walk comes back is a cycle.
  void FindCycle() {
    for (size_t start = 0; start < nodes_.size(); ++start) {
      std::vector<size_t> path;
      std::vector<WaitEdge> edges;
      std::set<size_t> seen;
      size_t at = start;
      while (nodes_[at].stand == Stand::kWaiting && !nodes_[at].any_suffices && nodes_[at].seconds >= kCycleSeconds) {
        if (!seen.insert(at).second) {
          size_t begin = std::find(path.begin(), path.end(), at) - path.begin();
          path.erase(path.begin(), path.begin() + begin);
          edges.erase(edges.begin(), edges.begin() + begin);
          ReportCycle(path, edges);
          return;
        }
        path.push_back(at);
        const WaitEdge* next = NextWaiting(at);
        if (!next) break;
        edges.push_back(*next);
        at = next->to;
      }
    }
  }

  const WaitEdge* NextWaiting(size_t process) const {
    for (const WaitEdge& edge : nodes_[process].edges)
      if (edge.to != kNoIndex && nodes_[edge.to].stand == Stand::kWaiting) return &edge;
    return nullptr;
  }

  void ReportCycle(const std::vector<size_t>& path, const std::vector<WaitEdge>& edges) {
    Finding finding;
    finding.proof = Proof::kCycle;
    std::set<uint64_t> comms;
    bool collectives = false, messages = false;
    size_t first = 0;
    std::string chain;
    for (size_t i = 0; i < path.size(); ++i) {
      finding.culprit_ranks.push_back(context_.rank(path[i]));
      comms.insert(edges[i].comm_uid);
      (edges[i].kind == WaitKind::kCollective ? collectives : messages) = true;
      if (context_.call(path[i], edges[i].call).start_ns < context_.call(path[first], edges[first].call).start_ns)
        first = i;
      chain += fmt::format("{}→", context_.rank(path[i]));
    }
    chain += fmt::format("{}", context_.rank(path[0]));
    int64_t closed_ns = 0;
    for (size_t i = 0; i < path.size(); ++i)
      closed_ns = std::max(closed_ns, context_.call(path[i], edges[i].call).start_ns);
    finding.kind = !collectives ? "p2p_deadlock" : !messages && comms.size() > 1 ? "order_inversion" : "wait_cycle";
    finding.first = context_.Event(path[first], edges[first].call);
    finding.first.t_ns = closed_ns;
    finding.first.field = "order";
    finding.first.actual = context_.Describe(path[first], edges[first].call);
    finding.first.expected =
        !collectives ? "a matching call of the peer, which itself waits" : "one order on all ranks";
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    std::string line = context_.Line(path[first], edges[first].call);
    finding.summary =
        fmt::format("{} wait for each other in a circle ({}): {} is in {}{}. The pattern is to blame, no single rank.",
                    RankList(finding.culprit_ranks), chain, fmt::format("rank {}", context_.rank(path[first])),
                    context_.Describe(path[first], edges[first].call), line.empty() ? "" : " at " + line);
    for (size_t process : path)
      finding.evidence.push_back(fmt::format("rank {} is {}", context_.rank(process), context_.WhereIs(process)));
    findings_.push_back(std::move(finding));
  }

  // Everybody entered, nothing differs, nobody computes.
  void FindNoProgress() {
    size_t stuck = kNoIndex;
    Finding finding;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].stand == Stand::kFinalize || nodes_[i].stand == Stand::kEnded) continue;
      if (nodes_[i].stand != Stand::kInside || nodes_[i].seconds < kNoProgressSeconds) return;
      if (stuck == kNoIndex) stuck = i;
      finding.culprit_ranks.push_back(context_.rank(i));
      finding.evidence.push_back(fmt::format("rank {} is {}", context_.rank(i), context_.WhereIs(i)));
    }
    if (stuck == kNoIndex || finding.culprit_ranks.size() < 2) return;
    finding.kind = "library_stall";
    finding.proof = Proof::kNoProgress;
    finding.first = context_.Event(stuck, context_.situation(stuck).open_call);
    finding.first.field = "progress";
    finding.first.expected = "return";
    finding.first.actual = "open";
    finding.confidence = 0.6;
    finding.summary = fmt::format("{} entered {} with equal arguments, and nobody has left it for {:.1f} s.",
                                  RankList(finding.culprit_ranks), context_.Describe(stuck, finding.first.call),
                                  nodes_[stuck].seconds);
    findings_.push_back(std::move(finding));
  }

  Context& context_;
  std::vector<WaitNode> nodes_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> FindWaits(Context& context) { return WaitsRule(context).Find(); }

}  // namespace ddbg::analyzer
