#include "analyzer/find/oom_kill.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "analyzer/load/telemetry.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

// The kernel counts, then kills: the entry before the kill may be a little over a second old, the one after it comes
// when the collector has seen the end.
constexpr int64_t kBeforeNs = 3'000'000'000, kAfterNs = 3'000'000'000;
constexpr int64_t kGrowthNs = 600'000'000'000;  // of memory, that is told

std::string KilobytesText(int64_t kb) { return BytesText(static_cast<uint64_t>(std::max<int64_t>(0, kb)) * 1024); }

// "its own memory grew from 20 MiB to 99 MiB in the 12 s before".
std::string GrowthText(const Process& process) {
  const SampleSeries& series = process.samples;
  const std::vector<int64_t>* values = series.Of(Metric::kAnonymousKb);
  if (values == nullptr || values->size() < 2) return "";
  size_t last = values->size() - 1, first = last;
  while (first > 0 && series.t_ns[last] - series.t_ns[first - 1] <= kGrowthNs) --first;
  return fmt::format("its anonymous memory went from {} to {} in the {} before", KilobytesText((*values)[first]),
                     KilobytesText((*values)[last]), DurationText(series.t_ns[last] - series.t_ns[first]));
}

std::string LimitText(const OomKills& kills) {
  std::string usage = kills.usage_kb > 0 ? fmt::format("{} in use", KilobytesText(kills.usage_kb)) : "";
  if (kills.limit_kb == 0) return usage;
  return fmt::format("limit {}{}{}", KilobytesText(kills.limit_kb), usage.empty() ? "" : ", ", usage);
}

}  // namespace

bool ExplainByOomKill(Context& context, size_t process, Finding* finding) {
  const Process& p = context.process(process);
  if (p.end.how != ProcessEnd::kSignaled || p.end.code != SIGKILL) return false;
  OomKills kills = OomKillsOf(context.run, p, p.end.t_ns - kBeforeNs, p.end.t_ns + kAfterNs);
  // A kill is counted in the victim's own cgroup too, whoever was short of memory.
  bool by_cgroup = kills.in_cgroup.value_or(0) > 0;
  bool by_node = !kills.in_cgroup && kills.on_node.value_or(0) > 0;
  if (!by_cgroup && !by_node) return false;
  finding->kind = "oom_kill";
  finding->first.actual = "out of memory";
  std::string limit = LimitText(kills);
  std::string where = by_cgroup ? fmt::format("cgroup {}{}{}{}", CgroupPath(kills.cgroup), limit.empty() ? "" : " (",
                                              limit, limit.empty() ? "" : ")")
                                : "its node";
  size_t dot = finding->summary.rfind('.');
  finding->summary.insert(dot == std::string::npos ? finding->summary.size() : dot,
                          fmt::format(": killed by the kernel because {} ran out of memory", where));
  finding->evidence.push_back(fmt::format("the counter oom_kill of {} rose by {} when it was killed",
                                          by_cgroup ? "its cgroup" : "the node",
                                          by_cgroup ? *kills.in_cgroup : *kills.on_node));
  if (std::string growth = GrowthText(p); !growth.empty()) finding->evidence.push_back(growth);
  finding->confidence = by_cgroup ? 0.97 : 0.8;
  return true;
}

}  // namespace ddbg::analyzer
