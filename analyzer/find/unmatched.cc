// Point-to-point ends without a partner: a receive that waits for what was sent under another tag, to another rank or
// on another communicator, and, in a job that ended well, messages nobody ever received.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analyzer/context/context.h"
#include "analyzer/context/waits.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

class UnmatchedRule {
 public:
  explicit UnmatchedRule(Context& context) : context_(context) {}

  std::vector<Finding> Find() {
    if (AnyLoss() || context_.messages.uncounted) return {};  // a lost half looks like a missing one
    for (const auto& [channel, ends] : context_.messages.channels) {
      if (ends.nccl || !BothTraced(channel)) continue;  // what NCCL leaves undone is found on its streams
      LookForNearMiss(channel, ends);
      LookForLeftover(channel, ends);
      LookForDroppedLeftover(channel, ends);
    }
    return std::move(findings_);
  }

 private:
  bool AnyLoss() const {
    for (const Process& process : context_.run.processes) {
      if (process.lost_total() > 0 || !process.damage.empty()) return true;
      for (const Call& call : process.calls)
        if (call.call == kCallLost || call.call == kUnknownCall) return true;
    }
    return !context_.run.unreadable.empty();
  }

  bool BothTraced(const Channel& channel) const {
    const CommGroup* group = context_.matching.Group(channel.comm_uid);
    return group && group->complete();
  }

  // Is the process in a call that waits for this very end?
  bool IsWaitedFor(const End& end) const {
    const Situation& s = context_.situation(end.process);
    if (s.open_call == kNoIndex || !s.alive_at_end()) return false;
    if (end.operation == 0) return s.open_call == end.call || s.open_call + 1 == end.call;
    auto detail = context_.process(end.process).open_detail.find(s.open_call);
    if (detail == context_.process(end.process).open_detail.end()) return false;
    const std::vector<uint64_t>& requests = detail->second.requests;
    return std::find(requests.begin(), requests.end(), end.operation) != requests.end();
  }

  void LookForNearMiss(const Channel& channel, const ChannelEnds& ends) {
    for (const End& receive : ends.receives) {
      if (receive.partner != kNoIndex || receive.completed || !IsWaitedFor(receive)) continue;
      // Else what is waited for may still come, after what was sent before it.
      const Member* source = MemberAt(channel, channel.source);
      if (!source || !WaitsFor(source->process, receive.process)) continue;
      for (const End& send : ends.sends)
        if (send.partner == kNoIndex) return ReportNearMiss(receive, send);
      if (const End* send = SentElsewhere(channel, receive)) return ReportWrongPeer(channel, receive, *send);
      if (const End* send = SentOnAnother(channel, receive)) return ReportWrongComm(receive, *send);
    }
  }

  // A message of this tag and size that the same sender gave to somebody else, who never asked for it.
  const End* SentElsewhere(const Channel& channel, const End& receive) const {
    if (receive.tag < 0) return nullptr;
    for (const auto& [other, ends] : context_.messages.channels) {
      if (other.comm_uid != channel.comm_uid || other.source != channel.source ||
          other.destination == channel.destination)
        continue;
      for (const End& send : ends.sends)
        if (send.partner == kNoIndex && send.tag == receive.tag &&
            context_.call(send.process, send.call).count == context_.call(receive.process, receive.call).count)
          return &send;
    }
    return nullptr;
  }

  // The same between the two processes on another communicator.
  const End* SentOnAnother(const Channel& channel, const End& receive) {
    const Member* source = MemberAt(channel, channel.source);
    if (receive.tag < 0 || !source || source->process == receive.process) return nullptr;
    for (const auto& [other, ends] : context_.messages.channels) {
      if (other.comm_uid == channel.comm_uid || ends.nccl || !BothTraced(other) || IsTakenFromAnyone(other)) continue;
      const Member *from = MemberAt(other, other.source), *to = MemberAt(other, other.destination);
      if (!from || !to || from->process != source->process || to->process != receive.process) continue;
      for (const End& send : ends.sends)
        if (send.partner == kNoIndex && send.tag == receive.tag &&
            context_.call(send.process, send.call).count == context_.call(receive.process, receive.call).count)
          return &send;
    }
    return nullptr;
  }

  // By a receive that has not told yet what it got.
  bool IsTakenFromAnyone(const Channel& channel) const {
    return std::any_of(context_.messages.wild.begin(), context_.messages.wild.end(),
                       [&](const Messages::Wild& wild) { return wild.comm_uid == channel.comm_uid; });
  }

  // Is the process through with its calls, or held up by what `other` has not done, be it over others?
  bool WaitsFor(size_t process, size_t other) {
    if (!waits_) waits_ = BuildWaits(context_);
    std::vector<bool> seen(waits_->size());
    std::vector<size_t> left = {process};
    while (!left.empty()) {
      size_t at = left.back();
      left.pop_back();
      const WaitNode& node = (*waits_)[at];
      if (at == other || (at == process && (node.stand == Stand::kFinalize || node.stand == Stand::kEnded)))
        return true;
      if (seen[at] || node.stand != Stand::kWaiting || node.any_suffices) continue;
      seen[at] = true;
      for (const WaitEdge& edge : node.edges)
        if (edge.to != kNoIndex) left.push_back(edge.to);
    }
    return false;
  }

  void ReportWrongComm(const End& receive, const End& send) {
    Finding finding;
    finding.kind = "p2p_unmatched";
    finding.proof = Proof::kMissing;
    finding.first = context_.Event(receive.process, receive.call);
    // Either end may be the wrong one.
    finding.first.t_ns = std::min(finding.first.t_ns, context_.StartNs(send.process, send.call));
    finding.first.field = "communicator";
    finding.first.actual = finding.first.comm;
    finding.first.expected = context_.Event(send.process, send.call).comm;
    finding.culprit_ranks = {context_.rank(receive.process), context_.rank(send.process)};
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    std::string line = context_.Line(receive.process, receive.call), sent = context_.Line(send.process, send.call);
    finding.summary =
        fmt::format("Rank {} waits in {}{} for a message that rank {} sent on another communicator: {}{}.",
                    context_.rank(receive.process), context_.Describe(receive.process, receive.call),
                    line.empty() ? "" : " at " + line, context_.rank(send.process),
                    context_.Describe(send.process, send.call), sent.empty() ? "" : " at " + sent);
    finding.evidence = {fmt::format("rank {} is {}", context_.rank(receive.process), context_.WhereIs(receive.process)),
                        fmt::format("rank {} is {}", context_.rank(send.process), context_.WhereIs(send.process))};
    finding.confidence = 0.9;
    findings_.push_back(std::move(finding));
  }

  void ReportWrongPeer(const Channel& channel, const End& receive, const End& send) {
    Finding finding;
    finding.kind = "p2p_unmatched";
    finding.proof = Proof::kMissing;
    finding.first = context_.Event(send.process, send.call);
    finding.first.field = "peer";
    finding.first.actual = std::to_string(context_.call(send.process, send.call).peer);
    finding.first.expected = std::to_string(channel.destination);
    finding.culprit_ranks = {context_.rank(send.process)};
    std::string line = context_.Line(send.process, send.call);
    finding.summary =
        fmt::format("Rank {} called {}{}: that rank never asks for it, and rank {} waits for such a message.",
                    context_.rank(send.process), context_.Describe(send.process, send.call),
                    line.empty() ? "" : " at " + line, context_.rank(receive.process));
    finding.evidence = {
        fmt::format("rank {} waits in {}", context_.rank(receive.process),
                    context_.Describe(receive.process, receive.call)),
        fmt::format("rank {} is {}", context_.rank(receive.process), context_.WhereIs(receive.process))};
    finding.confidence = 0.85;
    findings_.push_back(std::move(finding));
  }

  void ReportNearMiss(const End& receive, const End& send) {
    Finding finding;
    finding.kind = "p2p_unmatched";
    finding.proof = Proof::kMissing;
    finding.first = context_.Event(receive.process, receive.call);
    finding.first.field = "tag";
    finding.first.actual = std::to_string(receive.tag);
    finding.first.expected = std::to_string(send.tag);
    finding.culprit_ranks = {context_.rank(receive.process), context_.rank(send.process)};
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    std::string line = context_.Line(receive.process, receive.call), sent = context_.Line(send.process, send.call);
    finding.summary = fmt::format("Rank {} waits in {}{} for a message that rank {} sent under another tag: {}{}.",
                                  context_.rank(receive.process), context_.Describe(receive.process, receive.call),
                                  line.empty() ? "" : " at " + line, context_.rank(send.process),
                                  context_.Describe(send.process, send.call), sent.empty() ? "" : " at " + sent);
    finding.evidence = {fmt::format("rank {} is {}", context_.rank(receive.process), context_.WhereIs(receive.process)),
                        fmt::format("rank {} is {}", context_.rank(send.process), context_.WhereIs(send.process))};
    finding.confidence = 0.9;
    findings_.push_back(std::move(finding));
  }

  // Nobody received it; perhaps MPI_Mprobe took it for an MPI_Mrecv that did not follow.
  static bool IsLeft(const End& send, const ChannelEnds& ends) {
    return send.partner == kNoIndex || (send.partner < kPartnerDropped && ends.receives[send.partner].only_taken);
  }

  bool EndedWell(size_t process) const {
    const Situation& s = context_.situation(process);
    return s.finalized && (s.end == EndCause::kNormal || s.end == EndCause::kFailed || s.end == EndCause::kRunning);
  }

  // Only when both sides are through: before that the receive may still come. A wild receive that was never
  // resolved could have taken any of them.
  void LookForLeftover(const Channel& channel, const ChannelEnds& ends) {
    if (!context_.messages.wild.empty()) return;
    for (const End& send : ends.sends) {
      if (!IsLeft(send, ends) || !EndedWell(send.process)) continue;
      const CommGroup* group = context_.matching.Group(channel.comm_uid);
      for (const Member& member : group->members)
        if (member.comm_rank == channel.destination && EndedWell(member.process))
          return ReportLeftover(member, send, ends);
    }
  }

  const Member* MemberAt(const Channel& channel, int32_t comm_rank) const {
    for (const Member& member : context_.matching.Group(channel.comm_uid)->members)
      if (member.comm_rank == comm_rank) return &member;
    return nullptr;
  }

  // Messages of dropped detail: their counts alone say that not all were received.
  void LookForDroppedLeftover(const Channel& channel, const ChannelEnds& ends) {
    if (!context_.messages.wild.empty()) return;
    const Member* sender = MemberAt(channel, channel.source);
    const Member* receiver = MemberAt(channel, channel.destination);
    if (!sender || !receiver || !EndedWell(sender->process) || !EndedWell(receiver->process)) return;
    for (const auto& [tag, passed] : ends.passed) {
      uint64_t received = passed.receives;
      for (const End& receive : ends.receives) received += receive.tag == tag;
      if (passed.sends > received) ReportDroppedLeftover(*sender, *receiver, tag, passed.sends - received);
    }
  }

  void ReportDroppedLeftover(const Member& sender, const Member& receiver, int32_t tag, uint64_t count) {
    Finding finding;
    finding.kind = "p2p_unmatched";
    finding.proof = Proof::kState;
    finding.first.process = sender.process;
    finding.first.rank = context_.rank(sender.process);
    finding.first.field = "receive";
    finding.first.expected = fmt::format("a receive by rank {}", context_.rank(receiver.process));
    finding.first.actual = "none";
    finding.first.t_ns = context_.timeline.At(sender.process, context_.process(sender.process).dropped.until_ns);
    finding.culprit_ranks = {context_.rank(sender.process), context_.rank(receiver.process)};
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    finding.summary = fmt::format(
        "{} message{} from rank {} to rank {} with tag {} {} never received; which calls sent {} is in detail that was "
        "dropped to keep within the budget.",
        count, count == 1 ? "" : "s", context_.rank(sender.process), context_.rank(receiver.process), tag,
        count == 1 ? "was" : "were", count == 1 ? "it" : "them");
    finding.confidence = 0.7;
    findings_.push_back(std::move(finding));
  }

  void ReportLeftover(const Member& receiver, const End& send, const ChannelEnds& ends) {
    Finding finding;
    finding.kind = "p2p_unmatched";
    finding.proof = Proof::kState;
    finding.first = context_.Event(send.process, send.call);
    finding.first.field = "receive";
    finding.first.expected = fmt::format("a receive by rank {}", context_.rank(receiver.process));
    finding.first.actual = "none";
    finding.culprit_ranks = {context_.rank(send.process), context_.rank(receiver.process)};
    std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
    size_t count = std::count_if(ends.sends.begin(), ends.sends.end(), [&](const End& e) { return IsLeft(e, ends); });
    std::string line = context_.Line(send.process, send.call);
    finding.summary = fmt::format("{} message{} from rank {} to rank {} {} never received; the first is {}{}.", count,
                                  count == 1 ? "" : "s", context_.rank(send.process), context_.rank(receiver.process),
                                  count == 1 ? "was" : "were", context_.Describe(send.process, send.call),
                                  line.empty() ? "" : " at " + line);
    finding.confidence = 0.8;
    findings_.push_back(std::move(finding));
  }

  Context& context_;
  std::optional<std::vector<WaitNode>> waits_;  // once asked for
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> FindUnmatched(Context& context) { return UnmatchedRule(context).Find(); }

}  // namespace ddbg::analyzer
