#include "analyzer/load/telemetry.h"

#include <algorithm>

namespace ddbg::analyzer {
namespace {

constexpr int kMostEntries = 4096;     // of a packet; the collector makes ten
constexpr size_t kMostSamples = 2048;  // of a series, before its older half is thinned out
constexpr int64_t kMsNs = 1'000'000;
constexpr int64_t kLatestMs = INT64_MAX / kMsNs / 2;

int64_t WrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Ascending times of the packet, in ns; empty if they make no sense.
std::vector<int64_t> TimesOf(const proto::Samples& packet) {
  std::vector<int64_t> times;
  int64_t t_ms = 0;
  for (int64_t delta : packet.t_ms()) {
    t_ms = WrappingSum(t_ms, delta);
    if (t_ms < 0 || t_ms > kLatestMs || (!times.empty() && t_ms * kMsNs < times.back())) return {};
    times.push_back(t_ms * kMsNs);
  }
  return times;
}

// Every second entry of the older half goes, but one that shows another state than the one before it.
void ThinOut(SampleSeries* series) {
  size_t half = series->t_ns.size() / 2, kept = 0;
  const std::vector<int64_t>* states = series->Of(Metric::kState);
  std::vector<bool> stays(series->t_ns.size(), true);
  for (size_t i = 1; i + 1 < half; i += 2) stays[i] = states && ((*states)[i] != (*states)[i - 1]);
  for (size_t i = 0; i < series->t_ns.size(); ++i) {
    if (!stays[i]) continue;
    series->t_ns[kept] = series->t_ns[i];
    for (SampleSeries::Column& column : series->columns) column.values[kept] = column.values[i];
    ++kept;
  }
  series->t_ns.resize(kept);
  for (SampleSeries::Column& column : series->columns) column.values.resize(kept);
}

// Index of the last entry at or before; kNoEntry before the first.
constexpr size_t kNoEntry = static_cast<size_t>(-1);
size_t EntryAt(const SampleSeries& series, int64_t t_ns) {
  auto after = std::upper_bound(series.t_ns.begin(), series.t_ns.end(), t_ns);
  return after == series.t_ns.begin() ? kNoEntry : static_cast<size_t>(after - series.t_ns.begin() - 1);
}

SampleSeries* SeriesFor(const proto::Samples& packet, NodeTelemetry* node) {
  constexpr size_t kMostSubjects = 4096;
  auto of = [&](std::map<std::string, SampleSeries>* all) -> SampleSeries* {
    if (all->size() >= kMostSubjects && !all->count(packet.name())) return nullptr;
    return &(*all)[packet.name()];
  };
  switch (packet.subject()) {
    case proto::Samples::SYSTEM: return &node->system;
    case proto::Samples::CGROUP: return of(&node->cgroups);
    case proto::Samples::INTERFACE: return of(&node->interfaces);
    case proto::Samples::FILE_SYSTEM: return of(&node->file_systems);
    default: return nullptr;
  }
}

// The node's series of each cgroup of the process that was sampled.
std::vector<std::pair<std::string, const SampleSeries*>> CgroupsOf(const Run& run, const Process& process) {
  std::vector<std::pair<std::string, const SampleSeries*>> all;
  const NodeTelemetry* node = NodeOf(run, process);
  if (node == nullptr) return all;
  for (const std::string& name : process.cgroups) {
    auto found = node->cgroups.find(name);
    if (found != node->cgroups.end()) all.emplace_back(name, &found->second);
  }
  return all;
}

bool IsFrozenAt(const std::vector<std::pair<std::string, const SampleSeries*>>& cgroups, int64_t t_ns) {
  return std::any_of(cgroups.begin(), cgroups.end(), [&](const auto& cgroup) {
    return EntryAt(*cgroup.second, t_ns) != kNoEntry && ValueAt(*cgroup.second, Metric::kFrozen, t_ns).value_or(0) != 0;
  });
}

// Rows of a process's entries to which `judge` gives the same letter, which is not 0. It is told the state, and what
// tells whether a cgroup of the process was frozen then.
template <typename Judge>
std::vector<StateInterval> Intervals(const Run& run, const Process& process, Judge judge) {
  const SampleSeries& series = process.samples;
  const std::vector<int64_t>* states = series.Of(Metric::kState);
  if (states == nullptr) return {};
  auto cgroups = CgroupsOf(run, process);
  std::vector<StateInterval> intervals;
  char before = 0;
  for (size_t i = 0; i < series.t_ns.size(); ++i) {
    int64_t t = series.t_ns[i];
    char state = judge(static_cast<char>((*states)[i]), [&] { return IsFrozenAt(cgroups, t); });
    if (before != 0 && state != before) intervals.back().over = true;
    if (state != 0 && state != before) intervals.push_back({t, t, i > 0 ? series.t_ns[i - 1] : t, false, state, 0});
    if (state != 0) intervals.back().to_ns = t;
    before = state;
  }
  return intervals;
}

}  // namespace

bool AddSamples(const proto::Samples& packet, SampleSeries* series) {
  if (packet.t_ms_size() > kMostEntries) return false;
  std::vector<int64_t> times = TimesOf(packet);
  if (times.empty()) return packet.t_ms_size() == 0;
  size_t skip = 0, old = series->t_ns.size();
  while (skip < times.size() && old > 0 && times[skip] <= series->t_ns.back()) ++skip;
  if (skip == times.size()) return true;
  series->t_ns.insert(series->t_ns.end(), times.begin() + static_cast<std::ptrdiff_t>(skip), times.end());
  for (const proto::MetricColumn& packed : packet.column()) {
    size_t index = MetricIndex(packed.metric());
    if (index == kMetricCount || packed.delta_size() > packet.t_ms_size()) continue;
    std::vector<int64_t>* values = series->Of(kMetrics[index].metric);
    bool is_new = values == nullptr;
    if (is_new) values = &series->columns.emplace_back(SampleSeries::Column{kMetrics[index].metric, {}}).values;
    if (values->size() == series->t_ns.size()) continue;  // told twice
    int64_t value = 0;
    for (size_t i = 0; i < times.size(); ++i) {
      if (static_cast<int>(i) < packed.delta_size()) value = WrappingSum(value, packed.delta(static_cast<int>(i)));
      if (i == skip) values->resize(old, is_new ? value : values->empty() ? value : values->back());
      if (i >= skip) values->push_back(value);
    }
  }
  for (SampleSeries::Column& column : series->columns)  // what was not read this time stays as it was
    column.values.resize(series->t_ns.size(), column.values.empty() ? 0 : column.values.back());
  for (const proto::KernelWait& wait : packet.kernel_wait())
    if (wait.t_ms() >= 0 && wait.t_ms() <= kLatestMs && series->kernel_waits.size() < kMostSamples)
      series->kernel_waits.emplace_back(wait.t_ms() * kMsNs, wait.where());
  while (series->t_ns.size() > kMostSamples) ThinOut(series);
  return true;
}

void NodeLoader::Add(std::string_view bytes, NodeTelemetry* node) {
  proto::Chunk chunk;
  chunk.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));  // what could be read of a malformed one is used
  for (const proto::Packet& packet : chunk.packet()) {
    if (packet.has_process()) node->host = packet.process().host();
    if (packet.has_clock_step()) {
      const proto::ClockStep& step = packet.clock_step();
      node->clock_steps.push_back({step.t_ns(), step.step_ns(), step.suspended_ns()});
    }
    if (!packet.has_samples()) continue;
    if (SampleSeries* series = SeriesFor(packet.samples(), node)) AddSamples(packet.samples(), series);
  }
}

const NodeTelemetry* NodeOf(const Run& run, const Process& process) {
  for (const NodeTelemetry& node : run.nodes)
    if (node.host == process.host) return &node;
  return nullptr;
}

std::optional<int64_t> ValueAt(const SampleSeries& series, Metric metric, int64_t t_ns) {
  const std::vector<int64_t>* values = series.Of(metric);
  if (values == nullptr || values->empty()) return std::nullopt;
  size_t entry = EntryAt(series, t_ns);
  return entry == kNoEntry ? values->front() : (*values)[entry];
}

std::optional<int64_t> Growth(const SampleSeries& series, Metric metric, int64_t from_ns, int64_t to_ns) {
  const std::vector<int64_t>* values = series.Of(metric);
  if (values == nullptr) return std::nullopt;
  size_t first = EntryAt(series, from_ns), last = EntryAt(series, to_ns);
  if (last == kNoEntry) return std::nullopt;
  int64_t growth = 0;
  for (size_t i = first == kNoEntry ? 0 : first; i < last; ++i)
    growth = WrappingSum(growth, std::max<int64_t>(0, (*values)[i + 1] - std::min((*values)[i], (*values)[i + 1])));
  return growth;
}

std::vector<StateInterval> StopsOf(const Run& run, const Process& process) {
  std::vector<StateInterval> stops = Intervals(run, process, [](char state, auto is_frozen) -> char {
    if (state == 'T' || state == 't') return state;
    return (state == 'D' || state == 'S') && is_frozen() ? 'F' : 0;
  });
  for (StateInterval& stop : stops) stop.tracer = ValueAt(process.samples, Metric::kTracer, stop.from_ns).value_or(0);
  return stops;
}

std::vector<StateInterval> DiskSleepsOf(const Run& run, const Process& process) {
  return Intervals(run, process,
                   [](char state, auto is_frozen) -> char { return state == 'D' && !is_frozen() ? 'D' : 0; });
}

int64_t DiskSleepNs(const Run& run, const Process& process, int64_t from_ns, int64_t to_ns) {
  const SampleSeries& series = process.samples;
  int64_t asleep = 0;
  for (const StateInterval& sleep : DiskSleepsOf(run, process)) {
    // An entry stands for the time up to the next.
    auto next = std::upper_bound(series.t_ns.begin(), series.t_ns.end(), sleep.to_ns);
    int64_t end = next == series.t_ns.end() ? sleep.to_ns : *next;
    asleep += std::max<int64_t>(0, std::min(end, to_ns) - std::max(sleep.from_ns, from_ns));
  }
  return asleep;
}

std::optional<CpuShare> CpuShareOf(const Process& process, int64_t from_ns, int64_t to_ns) {
  std::optional<int64_t> run = Growth(process.samples, Metric::kRunUs, from_ns, to_ns);
  std::optional<int64_t> wait = Growth(process.samples, Metric::kWaitUs, from_ns, to_ns);
  if (!run || !wait) return std::nullopt;
  return CpuShare{*run * 1000, *wait * 1000};
}

std::optional<Throttling> ThrottlingOf(const Run& run, const Process& process, int64_t from_ns, int64_t to_ns) {
  std::optional<Throttling> most;
  for (const auto& [name, series] : CgroupsOf(run, process)) {
    std::optional<int64_t> us = Growth(*series, Metric::kThrottledUs, from_ns, to_ns);
    if (!us || (most && most->throttled_ns >= *us * 1000)) continue;
    most = Throttling{name, std::min(*us * 1000, to_ns - from_ns),
                      Growth(*series, Metric::kPeriods, from_ns, to_ns).value_or(0),
                      Growth(*series, Metric::kThrottledPeriods, from_ns, to_ns).value_or(0),
                      ValueAt(*series, Metric::kQuotaMilliCpus, to_ns).value_or(0)};
  }
  return most;
}

OomKills OomKillsOf(const Run& run, const Process& process, int64_t from_ns, int64_t to_ns) {
  OomKills kills;
  for (const auto& [name, series] : CgroupsOf(run, process)) {
    std::optional<int64_t> killed = Growth(*series, Metric::kCgroupOomKills, from_ns, to_ns);
    int64_t limit = ValueAt(*series, Metric::kMemoryLimitKb, to_ns).value_or(0);
    if (killed && !kills.in_cgroup) kills.in_cgroup = killed, kills.cgroup = name;  // its own comes first
    if (limit == 0 || (kills.limit_kb != 0 && kills.limit_kb <= limit)) continue;
    kills.limit_kb = limit;
    // The kill frees the memory: what there was before it.
    const std::vector<int64_t>* usage = series->Of(Metric::kMemoryKb);
    for (size_t i = 0; usage && i < series->t_ns.size(); ++i)
      if (series->t_ns[i] >= from_ns && series->t_ns[i] <= to_ns)
        kills.usage_kb = std::max(kills.usage_kb, (*usage)[i]);
  }
  if (const NodeTelemetry* node = NodeOf(run, process))
    kills.on_node = Growth(node->system, Metric::kNodeOomKills, from_ns, to_ns);
  return kills;
}

std::string_view CgroupPath(std::string_view name) {
  size_t colon = name.find(":/");
  return colon == name.npos ? name : name.substr(colon + 1);
}

}  // namespace ddbg::analyzer
