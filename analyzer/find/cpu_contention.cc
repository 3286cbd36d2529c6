// A rank that is late because it waits for a CPU that others use: its threads are ready and stand in the run queue, far
// more than those of the other ranks; or the hypervisor takes the CPUs of its node away. Where all ranks of a node
// share too few cores, all wait alike and nobody is blamed.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/find/cpu_wait.h"
#include "analyzer/find/late_windows.h"
#include "analyzer/load/telemetry.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

constexpr double kLeastWaiting = 0.25;    // of the time in which it was ready or ran
constexpr double kTimesOthers = 2.5;      // against the most of the others
constexpr double kTimesOthersPerRun = 3;  // the same of the time for each second that it ran
constexpr double kLeastOfLateness = 0.5;  // that the waiting explains
constexpr int64_t kLeastLateNs = 3'000'000'000;

// On a busy node all wait, and a share of the time comes to an end at 1.
double WaitPerRun(double waiting) { return waiting / std::max(1 - waiting, 1e-3); }

double MostOfOthers(const Context& context, size_t process, const LateWindow& window) {
  double most = 0;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (i == process || !context.situation(i).communicates) continue;
    // Windows are of the process's own clock: of another host's they are right by some seconds, or there is nothing.
    std::optional<CpuShare> share = CpuShareOf(context.process(i), window.from_ns, window.to_ns);
    if (share) most = std::max(most, share->waiting());
  }
  return most;
}

struct Contended {
  int64_t time_ns = 0, late_ns = 0;
  CpuShare share;
  double others = 0;
  std::vector<LateWindow> windows;
};

Contended Look(const Context& context, size_t process, const std::vector<LateWindow>& late) {
  Contended sum;
  for (const LateWindow& window : late) {
    std::optional<CpuShare> share = CpuShareOf(context.process(process), window.from_ns, window.to_ns);
    if (!share || share->waiting() < kLeastWaiting) continue;
    if (static_cast<double>(share->wait_ns) < kLeastOfLateness * static_cast<double>(window.late_ns)) continue;
    double others = MostOfOthers(context, process, window);
    bool starved =
        HasCpuForEach(context, process) && WaitPerRun(share->waiting()) >= kTimesOthersPerRun * WaitPerRun(others);
    if (share->waiting() < kTimesOthers * others && !starved) continue;
    // A throttled thread counts as one that waits.
    auto throttling = ThrottlingOf(context.run, context.process(process), window.from_ns, window.to_ns);
    if (throttling && throttling->throttled_ns * 2 >= share->wait_ns) continue;
    sum.time_ns += window.to_ns - window.from_ns;
    sum.late_ns += window.late_ns;
    sum.share.run_ns += share->run_ns;
    sum.share.wait_ns += share->wait_ns;
    sum.others = std::max(sum.others, others);
    sum.windows.push_back(window);
  }
  return sum;
}

// What the node was doing meanwhile.
std::string NodeText(const Context& context, size_t process, const std::vector<LateWindow>& windows) {
  const NodeTelemetry* node = NodeOf(context.run, context.process(process));
  if (node == nullptr) return "";
  int64_t busy = 0, idle = 0, steal = 0;
  for (const LateWindow& window : windows) {
    auto growth = [&](Metric metric) { return Growth(node->system, metric, window.from_ns, window.to_ns).value_or(0); };
    busy += growth(Metric::kCpuUserMs) + growth(Metric::kCpuSystemMs);
    idle += growth(Metric::kCpuIdleMs) + growth(Metric::kCpuIowaitMs);
    steal += growth(Metric::kCpuStealMs);
  }
  int64_t all = busy + idle + steal;
  if (all == 0) return "";
  auto percent = [&](int64_t part) { return 100.0 * static_cast<double>(part) / static_cast<double>(all); };
  return fmt::format("the CPUs of its node were {:.0f} % busy, {:.0f} % idle, {:.0f} % taken by the hypervisor",
                     percent(busy), percent(idle), percent(steal));
}

}  // namespace

std::vector<Finding> FindCpuContention(Context& context) {
  std::vector<Finding> findings;
  std::vector<std::vector<LateWindow>> late = FindLateWindows(context);
  for (size_t i = 0; i < late.size(); ++i) {
    Contended sum = Look(context, i, late[i]);
    if (sum.late_ns < kLeastLateNs) continue;
    Finding finding;
    finding.kind = "cpu_contention";
    finding.proof = Proof::kTiming;
    finding.culprit_ranks = {context.rank(i)};
    finding.first = context.Event(i, FirstLateCall(context, i, sum.windows));
    finding.first.field = "arrival";
    finding.first.expected = "with the others";
    finding.first.actual = "waiting for a CPU";
    finding.first.t_ns = context.timeline.At(i, sum.windows.front().from_ns);
    finding.summary = fmt::format(
        "Rank {} came late because something else ran on its CPU: in {} its threads ran for {} and waited in the run "
        "queue "
        "for {} ({:.0f} %; the other ranks at most {:.0f} %).",
        context.rank(i), DurationText(sum.time_ns), DurationText(sum.share.run_ns), DurationText(sum.share.wait_ns),
        100 * sum.share.waiting(), 100 * sum.others);
    finding.evidence.push_back(fmt::format("the others waited {} for it", DurationText(sum.late_ns)));
    if (std::string node = NodeText(context, i, sum.windows); !node.empty()) finding.evidence.push_back(node);
    finding.confidence = 0.85;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace ddbg::analyzer
