#include "analyzer/find/symptoms.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/describe.h"
#include "analyzer/model/refused.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kBeforeNs = 120'000'000'000;

std::string At(Context& context, size_t process, size_t call) {
  std::string line = context.Line(process, call);
  return line.empty() ? "" : " at " + line;
}

// The last failed allocation of a culprit before it left the path of its peers. A program that frees and tries again on
// one rank calls something else than the others then.
void AddFailedAllocation(Context& context, size_t process, Finding* finding) {
  const std::vector<Call>& calls = context.process(process).calls;
  for (size_t i = calls.size(); i-- > 0;) {
    const Call& call = calls[i];
    bool failed = call.known() && call.info().kind == CallKind::Alloc && !call.open() && call.result != 0;
    if (!failed || context.StartNs(process, i) > finding->first.t_ns) continue;
    int64_t before_ns = finding->first.t_ns - context.StartNs(process, i);
    if (before_ns > kBeforeNs) return;
    finding->evidence.push_back(fmt::format(
        "rank {}: {} failed with {} {:.1f} s before{}; a handler that frees memory and tries again on one rank changes "
        "what that rank calls next",
        context.rank(process), context.Describe(process, i), ResultText(call), static_cast<double>(before_ns) / 1e9,
        At(context, process, i)));
    return;
  }
}

// Nothing has taken the number that a refused call had.
bool IsLeftOut(const std::vector<Call>& calls, size_t refused) {
  return std::none_of(calls.begin() + static_cast<ptrdiff_t>(refused), calls.end(), [&](const Call& later) {
    return IsCollective(later) && later.comm == calls[refused].comm && later.seq >= calls[refused].seq;
  });
}

// What a culprit left out, though it called it.
void AddRefused(Context& context, size_t process, Finding* finding) {
  const std::vector<Call>& calls = context.process(process).calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!IsRefused(calls[i]) || !IsLeftOut(calls, i)) continue;
    finding->evidence.push_back(fmt::format("rank {}: MPI refused {} with error {}{}; the other ranks cannot know",
                                            context.rank(process), context.Describe(process, i), ResultText(calls[i]),
                                            At(context, process, i)));
    return;
  }
}

void AddAftermath(Context& context, size_t process, Finding* finding) {
  constexpr uint64_t kSuccess = 0, kInProgress = 7;
  bool broken = false, aborted = false;
  const std::vector<Call>& calls = context.process(process).calls;
  for (size_t i = 0; i < calls.size() && !(broken && aborted); ++i) {
    if (!IsNccl(calls[i]) || context.StartNs(process, i) < finding->first.t_ns) continue;
    CallKind kind = calls[i].info().kind;
    if (kind == CallKind::AsyncError && calls[i].aux != kSuccess && calls[i].aux != kInProgress && !broken) {
      broken = true;
      finding->evidence.push_back(fmt::format("what came of it: {} of rank {} said {}", context.Event(process, i).comm,
                                              context.rank(process), NcclResultName(calls[i].aux)));
    }
    if (kind == CallKind::CommAbort && !aborted) {
      aborted = true;
      finding->evidence.push_back(fmt::format("what came of it: rank {} called {}{}{}", context.rank(process),
                                              context.Describe(process, i), At(context, process, i),
                                              calls[i].open() ? ", which never returned" : ""));
    }
  }
}

}  // namespace

void AddSymptoms(Context& context, Finding* finding) {
  const std::vector<int32_t>& culprits = finding->culprit_ranks;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    bool culprit = std::binary_search(culprits.begin(), culprits.end(), context.rank(i));
    if (culprit) AddRefused(context, i, finding);
    if (!context.situation(i).uses_nccl) continue;
    if (culprit) AddFailedAllocation(context, i, finding);
    if (context.situations.hang_ended()) AddAftermath(context, i, finding);
  }
}

}  // namespace ddbg::analyzer
