#include <fmt/format.h>

#include <algorithm>

#include "analyzer/load/telemetry.h"
#include "analyzer/model/format.h"
#include "analyzer/render/telemetry.h"

namespace ddbg::analyzer {
namespace {

int64_t GrowthOf(const SampleSeries& series, Metric metric) {
  return series.empty() ? 0 : Growth(series, metric, series.t_ns.front(), series.t_ns.back()).value_or(0);
}

std::string CpuText(const SampleSeries& system) {
  int64_t busy = GrowthOf(system, Metric::kCpuUserMs) + GrowthOf(system, Metric::kCpuSystemMs);
  int64_t steal = GrowthOf(system, Metric::kCpuStealMs), wait = GrowthOf(system, Metric::kCpuIowaitMs);
  int64_t all = busy + steal + wait + GrowthOf(system, Metric::kCpuIdleMs);
  if (all == 0) return "";
  auto percent = [&](int64_t part) { return 100.0 * static_cast<double>(part) / static_cast<double>(all); };
  std::string text = fmt::format("{} CPUs {:.0f} % busy",
                                 system.Of(Metric::kCpus) ? system.Of(Metric::kCpus)->back() : 0, percent(busy));
  if (steal * 100 >= all) text += fmt::format(", {:.0f} % stolen", percent(steal));
  if (wait * 100 >= all) text += fmt::format(", {:.0f} % waiting for disks", percent(wait));
  return text;
}

std::string MemoryText(const SampleSeries& system) {
  const std::vector<int64_t>* available = system.Of(Metric::kMemoryAvailableKb);
  const std::vector<int64_t>* total = system.Of(Metric::kMemoryTotalKb);
  if (!available || !total || available->empty()) return "";
  auto text = [](int64_t kb) { return BytesText(static_cast<uint64_t>(std::max<int64_t>(kb, 0)) * 1024); };
  return fmt::format("memory {} of {} available at the least",
                     text(*std::min_element(available->begin(), available->end())), text(total->back()));
}

void Add(const std::string& part, std::string* text) {
  if (!part.empty()) *text += (text->empty() ? "" : "; ") + part;
}

}  // namespace

std::string NodeText(const NodeTelemetry& node) {
  std::string text;
  Add(CpuText(node.system), &text);
  Add(MemoryText(node.system), &text);
  if (int64_t kills = GrowthOf(node.system, Metric::kNodeOomKills)) Add(Counted(kills, "OOM kill"), &text);
  int64_t throttled = 0, changes = 0;
  for (const auto& [name, series] : node.cgroups)
    throttled = std::max(throttled, GrowthOf(series, Metric::kThrottledUs));
  if (throttled > 0) Add(fmt::format("CPU quota throttled for {}", DurationText(throttled * 1000)), &text);
  for (const auto& [name, series] : node.interfaces) changes += GrowthOf(series, Metric::kCarrierChanges);
  if (changes > 0) Add(Counted(static_cast<uint64_t>(changes), "change") + " of a network link", &text);
  if (!node.clock_steps.empty()) Add(Counted(node.clock_steps.size(), "step") + " of the wall clock", &text);
  return text.empty() ? "" : fmt::format("{}: {}", node.host, text);
}

}  // namespace ddbg::analyzer
