// A rank that is late because its cgroup has used up its CPU quota (CFS bandwidth control): it cannot run, whatever is
// free on the node. A quota that hits all ranks alike makes nobody late.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/find/late_windows.h"
#include "analyzer/load/telemetry.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

constexpr double kLeastShare = 0.1;       // of the time, throttled
constexpr double kLeastOfLateness = 0.5;  // that it explains
constexpr int64_t kLeastLateNs = 2'000'000'000;

// The windows in which the throttling is large against the lateness.
struct Sum {
  int64_t time_ns = 0, late_ns = 0;
  Throttling throttling;
  std::vector<LateWindow> windows;
};

Sum Throttled(const Context& context, size_t process, const std::vector<LateWindow>& late) {
  Sum sum;
  for (const LateWindow& window : late) {
    auto one = ThrottlingOf(context.run, context.process(process), window.from_ns, window.to_ns);
    if (!one) continue;
    int64_t length = window.to_ns - window.from_ns;
    bool much = static_cast<double>(one->throttled_ns) >= kLeastShare * static_cast<double>(length) &&
                static_cast<double>(one->throttled_ns) >= kLeastOfLateness * static_cast<double>(window.late_ns);
    if (!much) continue;
    sum.time_ns += length;
    sum.late_ns += window.late_ns;
    sum.throttling.cgroup = one->cgroup;
    sum.throttling.quota_milli_cpus = one->quota_milli_cpus;
    sum.throttling.throttled_ns += one->throttled_ns;
    sum.throttling.periods += one->periods;
    sum.throttling.throttled_periods += one->throttled_periods;
    sum.windows.push_back(window);
  }
  return sum;
}

// One rank of several that share the throttled cgroup has been late for another reason.
bool AllShare(const Context& context, const std::string& cgroup) {
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const std::vector<std::string>& cgroups = context.process(i).cgroups;
    if (context.situation(i).communicates && std::find(cgroups.begin(), cgroups.end(), cgroup) == cgroups.end())
      return false;
  }
  return true;
}

}  // namespace

std::vector<Finding> FindThrottled(Context& context) {
  std::vector<Finding> findings;
  if (context.run.nodes.empty()) return findings;
  std::vector<std::vector<LateWindow>> late = FindLateWindows(context);
  for (size_t i = 0; i < late.size(); ++i) {
    Sum sum = Throttled(context, i, late[i]);
    if (sum.late_ns < kLeastLateNs || AllShare(context, sum.throttling.cgroup)) continue;
    const Throttling& t = sum.throttling;
    Finding finding;
    finding.kind = "throttled";
    finding.proof = Proof::kTiming;
    finding.culprit_ranks = {context.rank(i)};
    finding.first = context.Event(i, FirstLateCall(context, i, sum.windows));
    finding.first.field = "arrival";
    finding.first.expected = "with the others";
    finding.first.actual = "throttled";
    finding.first.t_ns = context.timeline.At(i, sum.windows.front().from_ns);
    std::string quota = t.quota_milli_cpus > 0 ? fmt::format(" ({:.2f} CPUs)", t.quota_milli_cpus / 1000.0) : "";
    finding.summary = fmt::format(
        "Rank {} came late: its cgroup {} was throttled by its CPU quota{} for {} of {}, and the others waited {} for "
        "it.",
        context.rank(i), CgroupPath(t.cgroup), quota, DurationText(t.throttled_ns), DurationText(sum.time_ns),
        DurationText(sum.late_ns));
    if (t.periods > 0)
      finding.evidence.push_back(
          fmt::format("{} of {} quota periods ended throttled (cpu.stat)", t.throttled_periods, t.periods));
    finding.confidence = 0.9;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace ddbg::analyzer
