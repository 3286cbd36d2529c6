// Calls of NCCL that failed on a rank while its peers count on them, and communicators that said that they are broken.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

// Calls whose failure others feel. Init has a rule of its own.
bool IsShared(const Call& call) {
  if (!IsNccl(call)) return false;
  CallKind kind = call.info().kind;
  return kind == CallKind::Collective || kind == CallKind::Send || kind == CallKind::Recv ||
         kind == CallKind::GroupEnd || kind == CallKind::CommCreate;
}

// First call that failed before anything was aborted; kNoIndex if there is none.
size_t FirstFailure(const Context& context, size_t process) {
  const std::vector<Call>& calls = context.process(process).calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!IsNccl(calls[i])) continue;
    CallKind kind = calls[i].info().kind;
    if (kind == CallKind::CommAbort || kind == CallKind::CommRevoke ||
        calls[i].start_ns >= context.situation(process).until_ns)
      return kNoIndex;
    if (IsShared(calls[i]) && !Accepted(calls[i])) return i;
  }
  return kNoIndex;
}

// Somebody waits in the end, or did not end well. A program that went on after a failed call has dealt with it.
bool WentWrong(const Context& context) {
  constexpr double kAWhile = 3.0;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Situation& s = context.situation(i);
    if (s.end == EndCause::kOwn || s.end == EndCause::kFollowed || s.gave_up) return true;
    if (s.alive_at_end() && s.open_call != kNoIndex && context.OpenSeconds(i, s.open_call) >= kAWhile) return true;
  }
  return false;
}

std::vector<Finding> FindFailures(Context& context) {
  Finding finding;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    size_t call = FirstFailure(context, i);
    if (call == kNoIndex) continue;
    finding.culprit_ranks.push_back(context.rank(i));
    std::string line = context.Line(i, call);
    finding.evidence.push_back(fmt::format("rank {}: {} failed with {}{}", context.rank(i), context.Describe(i, call),
                                           ResultText(context.call(i, call)), line.empty() ? "" : " at " + line));
    if (finding.first.process == kNoIndex || context.StartNs(i, call) < finding.first.t_ns)
      finding.first = context.Event(i, call);
  }
  if (finding.culprit_ranks.empty() || !WentWrong(context)) return {};
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  const BadEvent& first = finding.first;
  const Call& call = context.call(first.process, first.call);
  finding.kind = "call_error";
  finding.proof = Proof::kMissing;
  finding.confidence = 0.9;
  finding.first.field = "result";
  finding.first.expected = "ncclSuccess";
  finding.first.actual = ResultText(call);
  std::string line = context.Line(first.process, first.call);
  finding.summary = fmt::format("{} of rank {} failed with {}{}: it takes no part in what its peers wait for.",
                                context.Describe(first.process, first.call), first.rank, ResultText(call),
                                line.empty() ? "" : " at " + line);
  return {finding};
}

// What a communicator says of itself is what came of something, if that was seen.
std::vector<Finding> FindAsyncErrors(Context& context) {
  constexpr uint64_t kSuccess = 0, kInProgress = 7;
  Finding finding;
  if (!context.situations.hang_ended()) return {};
  for (size_t p = 0; p < context.run.processes.size(); ++p) {
    const std::vector<Call>& calls = context.process(p).calls;
    auto broken = std::find_if(calls.begin(), calls.end(), [](const Call& call) {
      return IsNccl(call) && call.info().kind == CallKind::AsyncError && call.aux != kSuccess &&
             call.aux != kInProgress;
    });
    if (broken == calls.end()) continue;
    size_t index = static_cast<size_t>(broken - calls.begin());
    finding.culprit_ranks.push_back(context.rank(p));
    if (finding.first.process != kNoIndex && finding.first.t_ns <= context.StartNs(p, index)) continue;
    finding.first = context.Event(p, index);
    finding.first.field = "state";
    finding.first.expected = "ncclSuccess";
    finding.first.actual = fmt::format("{} ({})", NcclResultName(broken->aux), broken->aux);
  }
  if (finding.culprit_ranks.empty()) return {};
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.kind = "async_error";
  finding.proof = Proof::kUnknown;  // whatever else was wrong says more
  finding.confidence = 0.6;
  finding.summary = fmt::format(
      "{} of rank {} said {} while it worked; nothing in the calls before explains it: the "
      "network, a device, or a peer that is gone.",
      finding.first.comm, finding.first.rank, finding.first.actual);
  return {finding};
}

}  // namespace

std::vector<Finding> FindNcclErrors(Context& context) {
  std::vector<Finding> findings = FindFailures(context);
  for (Finding& finding : FindAsyncErrors(context)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace ddbg::analyzer
