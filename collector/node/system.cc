#include "collector/node/system.h"

#include <unistd.h>

#include <optional>
#include <string>

namespace ddbg::collector {
namespace {

void Put(Metric metric, std::optional<int64_t> value, std::vector<MetricValue>* values) {
  if (value) values->push_back({metric, *value});
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234"
std::optional<int64_t> TotalOf(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = NextLine(&text);
    if (NextWord(&line) != name) continue;
    for (std::string_view word = NextWord(&line); !word.empty(); word = NextWord(&line))
      if (word.starts_with("total=")) return ToNumber(word.substr(6));
  }
  return std::nullopt;
}

}  // namespace

void ParseNodeStat(std::string_view text, std::vector<MetricValue>* values) {
  static const int64_t kTickMs = 1000 / sysconf(_SC_CLK_TCK);
  int64_t cpus = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = NextLine(&rest);
    std::string_view name = NextWord(&line);
    if (!name.starts_with("cpu")) break;
    if (name != "cpu") {
      ++cpus;
      continue;
    }
    int64_t ticks[8];  // user nice system idle iowait irq softirq steal
    bool whole = true;
    for (int64_t& one : ticks) {
      std::optional<int64_t> number = ToNumber(NextWord(&line));
      whole = whole && number.has_value();
      one = number.value_or(0);
    }
    if (!whole || line.empty()) return;
    values->push_back({Metric::kCpuUserMs, (ticks[0] + ticks[1]) * kTickMs});
    values->push_back({Metric::kCpuSystemMs, (ticks[2] + ticks[5] + ticks[6]) * kTickMs});
    values->push_back({Metric::kCpuIdleMs, ticks[3] * kTickMs});
    values->push_back({Metric::kCpuIowaitMs, ticks[4] * kTickMs});
    values->push_back({Metric::kCpuStealMs, ticks[7] * kTickMs});
  }
  if (cpus > 0) values->push_back({Metric::kCpus, cpus});
  Put(Metric::kTasksBlocked, NumberOf(text, "procs_blocked"), values);
}

// "0.52 0.58 0.59 1/467 12345"
void ParseLoad(std::string_view text, std::vector<MetricValue>* values) {
  std::string_view word = NextWord(&text);
  size_t dot = word.find('.');
  if (dot == word.npos || dot + 3 > word.size()) return;
  std::optional<int64_t> whole = ToNumber(word.substr(0, dot)), part = ToNumber(word.substr(dot + 1, 2));
  if (whole && part && *whole < INT64_MAX / 100) values->push_back({Metric::kLoadPercent, *whole * 100 + *part});
}

void ParseMemory(std::string_view text, std::vector<MetricValue>* values) {
  Put(Metric::kMemoryAvailableKb, NumberOf(text, "MemAvailable:"), values);
  Put(Metric::kMemoryTotalKb, NumberOf(text, "MemTotal:"), values);
  Put(Metric::kSwapFreeKb, NumberOf(text, "SwapFree:"), values);
}

void ParseVmstat(std::string_view text, std::vector<MetricValue>* values) {
  Put(Metric::kNodeOomKills, NumberOf(text, "oom_kill"), values);
}

void ParsePressure(std::string_view text, Metric some, const Metric* full, std::vector<MetricValue>* values) {
  Put(some, TotalOf(text, "some"), values);
  if (full != nullptr) Put(*full, TotalOf(text, "full"), values);
}

std::vector<MetricValue> ReadSystem() {
  std::vector<MetricValue> values;
  auto with = [](const char* path, auto parse) {
    if (std::optional<std::string> text = ReadText(AT_FDCWD, path)) parse(*text);
  };
  with("/proc/stat", [&](const std::string& text) { ParseNodeStat(text, &values); });
  with("/proc/loadavg", [&](const std::string& text) { ParseLoad(text, &values); });
  with("/proc/meminfo", [&](const std::string& text) { ParseMemory(text, &values); });
  with("/proc/vmstat", [&](const std::string& text) { ParseVmstat(text, &values); });
  constexpr Metric kMemoryFull = Metric::kPressureMemoryFullUs, kIoFull = Metric::kPressureIoFullUs;
  with("/proc/pressure/cpu",
       [&](const std::string& text) { ParsePressure(text, Metric::kPressureCpuUs, nullptr, &values); });
  with("/proc/pressure/memory",
       [&](const std::string& text) { ParsePressure(text, Metric::kPressureMemoryUs, &kMemoryFull, &values); });
  with("/proc/pressure/io",
       [&](const std::string& text) { ParsePressure(text, Metric::kPressureIoUs, &kIoFull, &values); });
  return values;
}

}  // namespace ddbg::collector
