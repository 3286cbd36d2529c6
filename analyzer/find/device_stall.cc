// Rule 5 for NCCL: what all members put on their streams, in one order, and is done nowhere. The library, the device or
// the network; but two communicators in two orders on several streams come first, since their kernels may need the
// device at once (nccl#899). Speaks only where no stream is stuck for another reason (waits_rule.cc).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/context/waits.h"
#include "analyzer/find/odd_settings.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr double kNoProgressSeconds = 10.0;
constexpr double kTimesUsual = 5.0;
constexpr double kGivenUpSeconds = 2.0;  // where somebody aborted it for that

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

class DeviceStallRule {
 public:
  explicit DeviceStallRule(Context& context) : context_(context), horizon_ns_(context.situations.end_ns) {}

  std::vector<Finding> Find() {
    if (AnyStuck()) return {};
    FindProven();
    Suspect suspect;
    for (size_t i = 0; i < context_.run.processes.size(); ++i) {
      if (!IsWaiting(i)) continue;
      Suspect own = FirstUndone(i);
      if (own.call != kNoIndex && (suspect.call == kNoIndex || Start(own) < Start(suspect))) suspect = own;
    }
    if (suspect.call != kNoIndex && NobodyMoves(suspect)) return {Inverted() ? ReportOrder() : Report(suspect)};
    return FindTeardown();
  }

 private:
  // The first operation that a process waits for and of which nobody has proof that it is done.
  struct Suspect {
    size_t process = kNoIndex, call = kNoIndex;
  };

  int64_t Start(const Suspect& suspect) const { return context_.StartNs(suspect.process, suspect.call); }

  bool AnyStuck() const {
    const Replay& replay = context_.replay;
    return std::any_of(replay.lanes.begin(), replay.lanes.end(), [&](const ReplayLane& lane) {
      return replay.IsStuck(lane) && context_.situation(lane.process).alive_at_end();
    });
  }

  // What is done on one member was begun on all; what is behind it is another matter.
  void FindProven() {
    for (const ReplayLane& lane : context_.replay.lanes) {
      const StreamLane& stream = context_.replay.Of(lane);
      for (size_t i = stream.finished; i-- > 0;) {
        if (stream.items[i].waits) continue;
        const Call& call = context_.call(lane.process, stream.calls[stream.items[i].first]);
        if (call.info().kind == CallKind::Collective) {
          size_t& proven = proven_[UidOf(context_.process(lane.process), call)];
          proven = std::max<size_t>(proven, call.seq + 1);
        }
        break;
      }
    }
  }

  // Does the program wait, much longer than it ever did before?
  bool IsWaiting(size_t process) const {
    const Situation& s = context_.situation(process);
    if (!s.alive_at_end() || !s.uses_nccl) return false;
    double waited = 0;
    if (s.open_call != kNoIndex && context_.call(process, s.open_call).info().api != Api::Mpi)
      waited = context_.OpenSeconds(process, s.open_call);
    for (size_t lane : context_.replay.first_lane[process]) {
      const StreamLane& stream = context_.replay.Of(context_.replay.lanes[lane]);
      waited = std::max(waited, Seconds(stream.polled_until_ns - stream.polled_from_ns));
    }
    if (context_.situations.hang_ended()) return waited >= kGivenUpSeconds;
    return waited >= kNoProgressSeconds && waited >= kTimesUsual * LongestWaitBefore(process);
  }

  double LongestWaitBefore(size_t process) const {
    int64_t longest = 0;
    int64_t until_ns = context_.timeline.Back(process, horizon_ns_);
    for (const Call& call : context_.process(process).calls) {
      if (!IsCuda(call) || call.open() || IsPoll(call) || call.start_ns + call.duration_ns > until_ns) continue;
      longest = std::max(longest, call.duration_ns);
    }
    return Seconds(longest);
  }

  Suspect FirstUndone(size_t process) const {
    const Situation& s = context_.situation(process);
    int32_t only = -1;
    if (s.open_call != kNoIndex && context_.call(process, s.open_call).info().kind == CallKind::StreamSync)
      only = context_.call(process, s.open_call).tag;
    Suspect first;
    for (size_t index : context_.replay.first_lane[process]) {
      const StreamLane& stream = context_.replay.Of(context_.replay.lanes[index]);
      if (only > 0 && stream.stream != only && !FeedsInto(process, stream.stream, only)) continue;
      for (size_t i = stream.finished; i < stream.items.size(); ++i) {
        size_t call = stream.items[i].waits ? kNoIndex : UndoneOf(process, stream, stream.items[i]);
        if (call == kNoIndex) continue;
        if (first.call == kNoIndex || call < first.call) first = {process, call};
        break;
      }
    }
    return first;
  }

  // By an event, the one stream waits for the other.
  bool FeedsInto(size_t process, int32_t from, int32_t to) const {
    const ProcessStreams& streams = context_.replay.streams[process];
    auto target = streams.by_stream.find(to), source = streams.by_stream.find(from);
    if (target == streams.by_stream.end() || source == streams.by_stream.end()) return false;
    const std::vector<StreamItem>& items = streams.lanes[target->second].items;
    return std::any_of(items.begin(), items.end(),
                       [&](const StreamItem& item) { return item.waits && item.lane == source->second; });
  }

  size_t UndoneOf(size_t process, const StreamLane& stream, const StreamItem& item) const {
    for (uint32_t k = item.first; k < item.first + item.count; ++k) {
      const Call& call = context_.call(process, stream.calls[k]);
      if (context_.replay.streams[process].gone_comms.count(call.comm)) continue;
      uint64_t uid = UidOf(context_.process(process), call);
      auto proven = proven_.find(uid);
      bool done = call.info().kind == CallKind::Collective && proven != proven_.end() && call.seq < proven->second;
      auto group = context_.matching.by_uid.find(uid);
      if (group == context_.matching.by_uid.end() || context_.replay.undecided_from[group->second] != kNoIndex)
        continue;
      if (!done) return stream.calls[k];
    }
    return kNoIndex;
  }

  const CommGroup* GroupOf(const Suspect& suspect) const {
    return context_.matching.Group(
        UidOf(context_.process(suspect.process), context_.call(suspect.process, suspect.call)));
  }

  // No member makes calls of its own any more: one that does may have a device that is merely busy.
  bool NobodyMoves(const Suspect& suspect) const {
    for (const Member& member : GroupOf(suspect)->members) {
      const Situation& s = context_.situation(member.process);
      if (s.open_call != kNoIndex || s.gave_up || s.last_call == kNoIndex) continue;
      double idle = Seconds(horizon_ns_ - context_.EndNs(member.process, s.last_call));
      if (idle < kNoProgressSeconds && !context_.situations.hang_ended()) return false;
    }
    return true;
  }

  // First undone operation of each communicator, by process: two processes with two of them in two orders?
  bool Inverted() {
    std::map<std::pair<uint64_t, uint64_t>, std::pair<size_t, size_t>> order;  // (earlier, later) → process, call
    for (size_t p = 0; p < context_.run.processes.size(); ++p) {
      std::map<size_t, uint64_t> firsts;  // call → communicator
      std::set<uint64_t> seen;
      for (size_t index : context_.replay.first_lane[p]) {
        const StreamLane& stream = context_.replay.Of(context_.replay.lanes[index]);
        for (size_t i = stream.finished; i < stream.items.size(); ++i) {
          size_t call = stream.items[i].waits ? kNoIndex : UndoneOf(p, stream, stream.items[i]);
          if (call == kNoIndex) continue;
          firsts[call] = UidOf(context_.process(p), context_.call(p, call));
          break;
        }
      }
      for (auto a = firsts.begin(); a != firsts.end(); ++a)
        for (auto b = std::next(a); b != firsts.end(); ++b) {
          if (a->second == b->second || context_.call(p, a->first).info().kind != CallKind::Collective ||
              context_.call(p, b->first).info().kind != CallKind::Collective)
            continue;
          order.try_emplace({a->second, b->second}, std::make_pair(p, a->first));
          auto other = order.find({b->second, a->second});
          if (other == order.end()) continue;
          left_ = {other->second.first, other->second.second};
          right_ = {p, a->first};
          return true;
        }
    }
    return false;
  }

  Finding ReportOrder() {
    Finding finding;
    finding.kind = "order_inversion";
    finding.proof = Proof::kCycle;
    finding.confidence = 0.6;
    finding.first = context_.Event(left_.process, left_.call);
    finding.first.field = "order";
    finding.first.actual = context_.Describe(left_.process, left_.call) + " first";
    finding.first.expected = context_.Describe(right_.process, right_.call) + " first, or one order on all ranks";
    finding.culprit_ranks = {context_.rank(left_.process), context_.rank(right_.process)};
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    finding.summary = fmt::format(
        "Rank {} began {} first, rank {} {}, each on a stream of its own, and neither is done: kernels of two "
        "communicators that cannot run side by side on a device wait for each other when ranks begin them in two "
        "orders.",
        context_.rank(left_.process), context_.Describe(left_.process, left_.call), context_.rank(right_.process),
        context_.Describe(right_.process, right_.call));
    for (size_t process : {left_.process, right_.process})
      finding.evidence.push_back(fmt::format("rank {} is {}", context_.rank(process), context_.WhereIs(process)));
    return finding;
  }

  Finding Report(const Suspect& suspect) {
    const CommGroup& group = *GroupOf(suspect);
    const Call& call = context_.call(suspect.process, suspect.call);
    Finding finding;
    finding.kind = "library_stall";
    finding.proof = Proof::kNoProgress;
    finding.confidence = 0.6;
    finding.first = context_.Event(suspect.process, suspect.call);
    finding.first.field = "progress";
    finding.first.expected = "done";
    finding.first.actual = "not done";
    std::vector<int32_t> inside;
    for (const Member& member : group.members) {
      finding.culprit_ranks.push_back(context_.rank(member.process));
      size_t open = context_.situation(member.process).open_call;
      if (open != kNoIndex && IsNccl(context_.call(member.process, open)))
        inside.push_back(context_.rank(member.process));
      finding.evidence.push_back(
          fmt::format("rank {} is {}", context_.rank(member.process), context_.WhereIs(member.process)));
    }
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    finding.culprit_ranks.erase(std::unique(finding.culprit_ranks.begin(), finding.culprit_ranks.end()),
                                finding.culprit_ranks.end());
    std::string line = context_.Line(suspect.process, suspect.call),
                what = context_.Describe(suspect.process, suspect.call);
    std::string who = call.info().kind == CallKind::Collective
                          ? fmt::format("{} entered {} with equal arguments", RankList(finding.culprit_ranks), what)
                          : fmt::format("Both ends of rank {}'s {} were called", context_.rank(suspect.process), what);
    finding.summary = fmt::format(
        "{}{}, and it is done nowhere after {:.1f} s: the library, the device or the network, not the program's order "
        "of "
        "calls.",
        who, line.empty() ? "" : " at " + line, context_.OpenSeconds(suspect.process, suspect.call));
    if (!inside.empty())
      finding.evidence.insert(finding.evidence.begin(),
                              fmt::format("{} {} still inside NCCL's call: there it may not have been launched at all",
                                          RankList(inside), inside.size() == 1 ? "is" : "are"));
    AddKernelBefore(suspect, &finding);
    AddOddSettings(group, &finding);
    return finding;
  }

  // Ranks whose settings differ from most are where to look first (nccl#2428: a guard against that was silenced).
  void AddOddSettings(const CommGroup& group, Finding* finding) const {
    std::vector<size_t> processes;
    for (const Member& member : group.members) processes.push_back(member.process);
    std::vector<int32_t> odd;
    for (const OddSetting& setting : OddSettings(context_, processes, SettingReader::kNccl)) {
      finding->evidence.insert(finding->evidence.begin(), setting.sentence);
      if (odd.empty()) odd = setting.ranks;
      if (odd != setting.ranks) return;  // several stories: nobody in particular
    }
    if (odd.empty()) return;
    finding->culprit_ranks = odd;
    ShowAt(group, odd[0], &finding->first);
    finding->summary += fmt::format(" {} differs: {}.", RankList(odd), finding->evidence.front());
  }

  // The same operation, as that rank called it.
  void ShowAt(const CommGroup& group, int32_t rank, BadEvent* first) const {
    for (const Member& member : group.members) {
      size_t call = first->seq < 0 ? kNoIndex : member.At(static_cast<size_t>(first->seq));
      if (context_.rank(member.process) != rank || call == kNoIndex) continue;
      BadEvent own = context_.Event(member.process, call);
      own.field = first->field;
      own.expected = first->expected;
      own.actual = first->actual;
      *first = own;
      return;
    }
  }

  // A kernel of the program on the same stream may be what does not end.
  void AddKernelBefore(const Suspect& suspect, Finding* finding) const {
    const Call& call = context_.call(suspect.process, suspect.call);
    const Process& process = context_.process(suspect.process);
    for (size_t i = suspect.call; i-- > 0;) {
      const Call& before = process.calls[i];
      if (!before.known() || before.tag != call.tag) continue;
      if (IsStreamWork(before)) return;
      if (before.info().kind != CallKind::Launch) continue;
      finding->evidence.push_back(
          fmt::format("on rank {} the same stream has {} before it, which may be what does not end", process.rank(),
                      context_.Describe(suspect.process, i)));
      return;
    }
  }

  // The end of a communicator that does not end, when nothing else explains it.
  std::vector<Finding> FindTeardown() {
    for (size_t p = 0; p < context_.run.processes.size(); ++p) {
      const std::vector<Call>& calls = context_.process(p).calls;
      for (size_t i = 0; i < calls.size(); ++i) {
        if (!IsNccl(calls[i]) || !calls[i].open()) continue;
        CallKind kind = calls[i].info().kind;
        bool ends = kind == CallKind::CommAbort || kind == CallKind::CommFree || kind == CallKind::CommFinalize;
        double open = Seconds(context_.process(p).last_seen_ns - calls[i].start_ns);
        if (ends && open >= kNoProgressSeconds) return {ReportTeardown(p, i, open)};
      }
    }
    return {};
  }

  Finding ReportTeardown(size_t process, size_t call, double open) {
    Finding finding;
    finding.kind = "library_stall";
    finding.proof = Proof::kNoProgress;
    finding.confidence = 0.6;
    finding.first = context_.Event(process, call);
    finding.first.field = "return";
    finding.first.expected = "return";
    finding.first.actual = "open";
    finding.culprit_ranks = {context_.rank(process)};
    std::string line = context_.Line(process, call);
    finding.summary = fmt::format(
        "Rank {} has been in {} for {:.1f} s{}: the end of the communicator does not end. Ends of several "
        "communicators "
        "in two orders on two ranks, or while a group is open, do this.",
        context_.rank(process), context_.Describe(process, call), open, line.empty() ? "" : ", called from " + line);
    for (size_t i = 0; i < context_.run.processes.size(); ++i)
      if (context_.situation(i).communicates)
        finding.evidence.push_back(fmt::format("rank {} is {}", context_.rank(i), context_.WhereIs(i)));
    return finding;
  }

  Context& context_;
  int64_t horizon_ns_;
  std::map<uint64_t, size_t> proven_;  // by communicator: sequence numbers below are done on some member
  Suspect left_, right_;
};

}  // namespace

std::vector<Finding> FindDeviceStalls(Context& context) { return DeviceStallRule(context).Find(); }

}  // namespace ddbg::analyzer
