// A rank that does not end because a process it forked still lives: its interpreter waits for it, and the child keeps
// open what was open when it was forked. Told by the hooks in Python when the interpreter is on its way out.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/model/told.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kLongNs = 5'000'000'000, kVeryLongNs = 30'000'000'000;

// A process of multiprocessing's that is no daemon; else the child may have nothing to do with it.
bool IsWaitedFor(const ToldEvent& child) {
  return child.text.find("the interpreter waits for it") != std::string::npos;
}

bool WentOn(const Context& context, size_t process, size_t event) {
  const std::vector<Call>& calls = context.process(process).calls;
  for (size_t i = event + 1; i < calls.size(); ++i)
    if (calls[i].known() && calls[i].info().api != Api::Ddbg) return true;
  return false;
}

}  // namespace

std::vector<Finding> FindLeftChildren(Context& context) {
  std::vector<Finding> findings;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (context.situation(i).end != EndCause::kRunning) continue;
    std::vector<ToldEvent> children = EventsTold(context.process(i), "child");
    if (children.empty() || WentOn(context, i, children[0].call)) continue;
    int64_t since_ns = context.StartNs(i, children[0].call);
    auto waited = std::stable_partition(children.begin(), children.end(), IsWaitedFor);
    bool certain = waited != children.begin();
    if (context.situations.end_ns - since_ns < (certain ? kLongNs : kVeryLongNs)) continue;
    Finding finding;
    finding.kind = "left_child";
    finding.proof = Proof::kNoProgress;
    finding.culprit_ranks = {context.rank(i)};
    finding.first = context.Event(i, children[0].call);
    finding.first.field = "child process";
    finding.first.expected = "ended";
    finding.first.actual = fmt::format("pid {}", children[0].number);
    finding.summary = fmt::format(
        "Rank {} (pid {}) does not end: its interpreter has been on its way out for {:.1f} s, and a process that it "
        "forked, pid {}, was alive when it began to.",
        context.rank(i), context.process(i).pid, static_cast<double>(context.situations.end_ns - since_ns) / 1e9,
        children[0].number);
    for (const ToldEvent& child : children)
      finding.evidence.push_back(fmt::format("pid {}: {}", child.number, child.text));
    finding.confidence = certain ? 0.85 : 0.6;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace ddbg::analyzer
