// Rule 3: a rank that never made the call its peers wait in. A cycle of waits (wait_cycle.cc) and a call that all have
// entered and nobody leaves (no_progress.cc) come after it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "analyzer/context/waits.h"
#include "analyzer/find/divergence.h"
#include "analyzer/find/held_lock.h"
#include "analyzer/find/no_progress.h"
#include "analyzer/find/wait_cycle.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

// Peers of a rank that computes wait in every healthy job; only a wait much longer than this run's own is told.
constexpr double kSuspiciousSeconds = 3.0;
constexpr double kTimesUsual = 5.0;

class WaitsRule {
 public:
  explicit WaitsRule(Context& context) : context_(context), nodes_(BuildWaits(context)) { FindWaiters(); }

  std::vector<Finding> Find() {
    for (Absence absence : {Absence::kForGood, Absence::kInOwnCode, Absence::kInDeviceCall})
      if (findings_.empty()) FindAbsent(absence);
    if (findings_.empty()) findings_ = FindWaitCycle(context_, nodes_);
    if (findings_.empty()) findings_ = FindNoProgress(context_, nodes_);
    return std::move(findings_);
  }

 private:
  struct Waiter {
    size_t node;
    WaitEdge edge;
  };

  enum class Absence {
    kForGood,       // ended, or past its last call
    kInOwnCode,     // may still come
    kInDeviceCall,  // waits for its device, where nothing of NCCL holds it up
  };

  // Everyone who waits for a process itself, each node once.
  void FindWaiters() {
    waiters_.resize(context_.run.processes.size());
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (const WaitEdge& edge : nodes_[i].edges) {
        if (edge.to >= waiters_.size() || edge.to_rank != context_.rank(edge.to) || edge.call == kNoIndex) continue;
        std::vector<Waiter>& waiters = waiters_[edge.to];
        if (waiters.empty() || waiters.back().node != i) waiters.push_back({i, edge});
      }
  }

  void FindAbsent(Absence absence) {
    std::map<std::pair<uint64_t, size_t>, std::vector<size_t>> absent;   // (comm, seq) → processes
    std::map<std::pair<uint64_t, size_t>, std::vector<Waiter>> waiting;  // one of each process
    std::map<std::pair<uint64_t, size_t>, std::unordered_set<size_t>> told;
    for (size_t target = 0; target < context_.run.processes.size(); ++target) {
      if (!IsAbsent(target, absence)) continue;
      const std::vector<Waiter>& waiters = waiters_[target];
      if (waiters.empty() || (absence != Absence::kForGood && !IsLongerThanUsual(target, absence, waiters))) continue;
      const WaitEdge& edge = waiters[0].edge;
      auto key = std::make_pair(edge.comm_uid, edge.kind == WaitKind::kCollective ? edge.seq : kNoIndex);
      absent[key].push_back(target);
      for (const Waiter& waiter : waiters)
        if (told[key].insert(Process(waiter)).second) waiting[key].push_back(waiter);
    }
    for (const auto& [key, targets] : absent) ReportAbsent(targets, waiting[key], absence);
  }

  size_t Process(const Waiter& waiter) const { return nodes_[waiter.node].process; }

  bool IsAbsent(size_t target, Absence absence) const {
    const WaitNode& node = nodes_[target];
    switch (absence) {
      // What it gave to a stream that cannot be done holds it up itself: the fault is further on.
      case Absence::kInOwnCode: return node.stand == Stand::kOwnCode && node.perhaps.empty();
      case Absence::kInDeviceCall: return node.stand == Stand::kInside && IsDeviceCall(target);
      case Absence::kForGood: break;
    }
    if (node.stand == Stand::kFinalize) return true;
    // A death is a finding of its own kind, with the waiters as its evidence.
    return node.stand == Stand::kEnded && context_.situation(target).end != EndCause::kOwn;
  }

  bool IsDeviceCall(size_t process) const {
    size_t open = context_.situation(process).open_call;
    return open != kNoIndex && IsCuda(context_.call(process, open));
  }

  double LongestWait(const std::vector<Waiter>& waiters) const {
    double longest = 0;
    for (const Waiter& waiter : waiters) longest = std::max(longest, nodes_[waiter.node].seconds);
    return longest;
  }

  // Longest stay of the rank in its own code before.
  double UsualGap(size_t process) const {
    const std::vector<Call>& calls = context_.process(process).calls;
    int64_t longest = 0, left = 0;
    for (const Call& call : calls) {
      if (!call.known() || call.open() || IsPoll(call)) continue;
      if (left && call.start_ns > left) longest = std::max(longest, call.start_ns - left);
      left = std::max(left, call.start_ns + call.duration_ns);
    }
    return static_cast<double>(longest) / 1e9;
  }

  // Whoever aborted a communicator had waited for long enough.
  bool IsLongerThanUsual(size_t target, Absence absence, const std::vector<Waiter>& waiters) const {
    double wait = LongestWait(waiters);
    if (absence == Absence::kInDeviceCall)
      return wait >= kNoProgressSeconds && nodes_[target].seconds >= kNoProgressSeconds;
    if (wait < kSuspiciousSeconds) return false;
    return context_.situations.hang_ended() || wait >= kTimesUsual * UsualGap(target);
  }

  void ReportAbsent(const std::vector<size_t>& targets, const std::vector<Waiter>& waiters, Absence absence) {
    const Waiter& waiter = waiters[0];
    size_t target = targets[0];
    const Situation& s = context_.situation(target);
    bool permanent = absence == Absence::kForGood;
    Finding finding;
    finding.proof = permanent ? Proof::kMissing : Proof::kTiming;
    finding.kind = permanent ? "early_exit" : "stall";
    for (size_t each : targets) finding.culprit_ranks.push_back(context_.rank(each));
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    finding.first = context_.Event(target, s.open_call != kNoIndex ? s.open_call : s.last_call);
    BadEvent awaited = context_.Event(Process(waiter), waiter.edge.call);
    finding.first.comm = awaited.comm;
    finding.first.comm_uid = awaited.comm_uid;
    finding.first.seq = awaited.seq;
    finding.first.field = "arrival";
    finding.first.expected = awaited.call_name;
    finding.first.actual = context_.WhereIs(target);
    finding.first.call_name = awaited.call_name;
    if (waiter.edge.kind == WaitKind::kEpoch) finding.first.call_name = finding.first.expected = waiter.edge.awaits;
    if (waiter.edge.kind == WaitKind::kLock) finding.first = HeldLockEvent(context_, waiter.edge);
    // From when on it could not come right any more.
    finding.first.t_ns = std::max(awaited.t_ns, finding.first.t_ns);
    finding.summary = SummaryOfAbsence(finding, target, targets.size(), waiters);
    for (const Waiter& each : waiters)
      finding.evidence.push_back(
          fmt::format("rank {} is {}", context_.rank(Process(each)), WhereIs(context_, nodes_[each.node])));
    for (size_t each : targets)
      finding.evidence.push_back(fmt::format("rank {} is {}", context_.rank(each), context_.WhereIs(each)));
    finding.confidence = permanent ? 0.95 : 0.6;
    if (MetInTheSameGroup(waiter)) MarkUnmatched(waiter, target, &finding);
    MarkInterpreterExit(target, &finding);
    const CommGroup* group = context_.matching.Group(waiter.edge.comm_uid);
    if (group && waiter.edge.kind == WaitKind::kCollective) ExplainByShift(context_, *group, waiter.edge.seq, &finding);
    findings_.push_back(std::move(finding));
  }

  std::string SummaryOfAbsence(const Finding& finding, size_t target, size_t absent,
                               const std::vector<Waiter>& waiters) {
    const Waiter& waiter = waiters[0];
    if (waiter.edge.kind == WaitKind::kLock)
      return Capitalized(HeldLockText(context_, Process(waiter), waiter.edge)) + ".";
    std::vector<int32_t> waiting_ranks;
    for (const Waiter& each : waiters) waiting_ranks.push_back(context_.rank(Process(each)));
    std::sort(waiting_ranks.begin(), waiting_ranks.end());
    waiting_ranks.erase(std::unique(waiting_ranks.begin(), waiting_ranks.end()), waiting_ranks.end());
    std::string line = context_.Line(Process(waiter), waiter.edge.call);
    return fmt::format("{} {} the {}{} that {} {} for: {} is {}.", RankList(finding.culprit_ranks),
                       Omission(waiter.edge), context_.Describe(Process(waiter), waiter.edge.call),
                       line.empty() ? "" : " (" + line + ")", RankList(waiting_ranks),
                       waiting_ranks.size() == 1 ? "waits" : "wait",
                       absent == 1 ? "it" : fmt::format("rank {}", context_.rank(target)), context_.WhereIs(target));
  }

  static std::string Omission(const WaitEdge& edge) {
    if (edge.not_begun) return "called, but did not begin,";
    if (edge.kind == WaitKind::kCollective) return "never entered";
    if (edge.kind == WaitKind::kEpoch) return fmt::format("never called {} for", edge.awaits);
    return "never took its part in";
  }

  // A send or receive of a group, where the peer answered another one of the same group: it did come to the exchange.
  bool MetInTheSameGroup(const Waiter& waiter) const {
    const WaitNode& node = nodes_[waiter.node];
    if (!node.is_stream() || waiter.edge.kind == WaitKind::kCollective) return false;
    const ReplayLane& lane = context_.replay.lanes[node.lane];
    const StreamLane& stream = context_.replay.Of(lane);
    const StreamItem& item = stream.items[lane.head];
    const Call& waiting = context_.call(node.process, waiter.edge.call);
    for (uint32_t k = item.first; k < item.first + item.count; ++k) {
      const Call& other = context_.call(node.process, stream.calls[k]);
      bool same_pair =
          other.comm == waiting.comm && other.peer == waiting.peer && other.info().kind != waiting.info().kind;
      if (same_pair && HasPartner(node.process, stream.calls[k])) return true;
    }
    return false;
  }

  bool HasPartner(size_t process, size_t index) const {
    const Call& call = context_.call(process, index);
    const Communicator& comm = context_.process(process).comms.at(call.comm);
    bool sends = call.info().kind == CallKind::Send;
    auto found = context_.messages.channels.find(sends ? Channel{comm.uid, comm.rank, call.peer}
                                                       : Channel{comm.uid, call.peer, comm.rank});
    if (found == context_.messages.channels.end()) return false;
    const std::vector<End>& ends = sends ? found->second.sends : found->second.receives;
    return std::any_of(ends.begin(), ends.end(),
                       [&](const End& end) { return end.call == index && end.partner != kNoIndex; });
  }

  void MarkUnmatched(const Waiter& waiter, size_t target, Finding* finding) {
    finding->kind = "p2p_unmatched";
    finding->proof = Proof::kMissing;
    finding->confidence = 0.8;
    finding->evidence.insert(
        finding->evidence.begin(),
        fmt::format("rank {} met rank {} in the other direction of the same group, and has nothing for this one",
                    context_.rank(target), context_.rank(Process(waiter))));
  }

  void MarkInterpreterExit(size_t target, Finding* finding) {
    const Situation& s = context_.situation(target);
    if (s.open_call == kNoIndex || !context_.CalledFromExit(target, s.open_call)) return;
    finding->evidence.push_back(
        "its MPI_Finalize was called while the process was exiting, not by the program's own text: the main program "
        "ended first, as after an uncaught exception or an early return");
  }

  Context& context_;
  std::vector<WaitNode> nodes_;
  std::vector<std::vector<Waiter>> waiters_;  // by process
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> FindWaits(Context& context) { return WaitsRule(context).Find(); }

}  // namespace ddbg::analyzer
