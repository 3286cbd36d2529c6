#include "collector/node/cgroup.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace ddbg::collector {
namespace {

constexpr std::string_view kControllers[] = {"cpu", "memory", "freezer"};
constexpr size_t kMostAbove = 4;                // limits of one hierarchy that are followed
constexpr int64_t kNoLimit = int64_t{1} << 60;  // bytes; version 1 says "none" by a number near 2^63

bool Contains(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(comma == list.npos ? list.size() : comma + 1);
  }
  return false;
}

// mountinfo writes blanks and backslashes as \040 and so on.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    auto digit = [&](size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '7' ? text[at] - '0' : -1;
    };
    if (text[i] == '\\' && digit(i + 1) >= 0 && digit(i + 2) >= 0 && digit(i + 3) >= 0) {
      plain += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::optional<int64_t> LimitOf(std::string_view text) {
  if (text.starts_with("max")) return 0;
  std::optional<int64_t> bytes = ToNumber(NextWord(&text));
  if (!bytes) return std::nullopt;
  return *bytes >= kNoLimit ? 0 : *bytes / 1024;
}

std::string Above(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == path.npos || path == "/" ? "" : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::vector<CgroupPlace> ParseCgroups(std::string_view text) {
  std::vector<CgroupPlace> places;
  while (!text.empty()) {
    std::string_view line = NextLine(&text);
    size_t first = line.find(':');
    size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string path{line.substr(second + 1)};
    if (controllers.empty()) places.push_back({"", path});
    for (std::string_view controller : kControllers)
      if (Contains(controllers, controller)) places.push_back({std::string(controller), path});
  }
  return places;
}

// 36 25 0:31 /docker/1 /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory
std::vector<CgroupMount> ParseCgroupMounts(std::string_view text) {
  std::vector<CgroupMount> mounts;
  while (!text.empty()) {
    std::string_view line = NextLine(&text);
    for (int i = 0; i < 3; ++i) NextWord(&line);
    std::string root = Unescaped(NextWord(&line)), point = Unescaped(NextWord(&line));
    size_t dash = line.find(" - ");
    if (dash == line.npos || point.empty()) continue;
    line.remove_prefix(dash + 3);
    std::string_view type = NextWord(&line);
    NextWord(&line);  // source
    std::string_view options = NextWord(&line);
    if (type == "cgroup2") mounts.push_back({"", root, point});
    if (type != "cgroup") continue;
    for (std::string_view controller : kControllers)
      if (Contains(options, controller)) mounts.push_back({std::string(controller), root, point});
  }
  return mounts;
}

std::string DirectoryOf(const CgroupPlace& place, const std::vector<CgroupMount>& mounts) {
  for (const CgroupMount& mount : mounts) {
    if (mount.controller != place.controller) continue;
    if (mount.root == "/") return mount.point + (place.path == "/" ? "" : place.path);
    bool below = place.path.starts_with(mount.root) &&
                 (place.path.size() == mount.root.size() || place.path[mount.root.size()] == '/');
    if (below) return mount.point + place.path.substr(mount.root.size());
  }
  return "";
}

void ParseCpuStat(std::string_view text, std::vector<MetricValue>* values) {
  std::optional<int64_t> periods = NumberOf(text, "nr_periods"), throttled = NumberOf(text, "nr_throttled");
  std::optional<int64_t> us = NumberOf(text, "throttled_usec"), ns = NumberOf(text, "throttled_time");
  if (ns && !us) us = *ns / 1000;
  if (periods) values->push_back({Metric::kPeriods, *periods});
  if (throttled) values->push_back({Metric::kThrottledPeriods, *throttled});
  if (us) values->push_back({Metric::kThrottledUs, *us});
}

std::optional<int64_t> ParseQuota(std::string_view cpu_max) {
  std::string_view quota = NextWord(&cpu_max);
  if (quota == "max") return 0;
  std::optional<int64_t> us = ToNumber(quota), period = ToNumber(NextWord(&cpu_max));
  if (!us || !period || *period <= 0 || *us > INT64_MAX / 1000) return std::nullopt;
  return *us < 0 ? 0 : *us * 1000 / *period;
}

Cgroup::Cgroup(CgroupPlace place, const std::string& directory) : place_(std::move(place)) {
  if (!directory.empty()) directory_ = UniqueFd{open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

std::vector<MetricValue> Cgroup::Read() const {
  std::vector<MetricValue> values;
  if (!directory_) return values;
  bool unified = place_.controller.empty();
  if (unified || place_.controller == "cpu") ReadCpu(&values);
  if (unified || place_.controller == "memory") ReadMemory(&values);
  if (unified || place_.controller == "freezer") ReadFreezer(&values);
  return values;
}

void Cgroup::ReadCpu(std::vector<MetricValue>* values) const {
  bool unified = place_.controller.empty();
  if (std::optional<std::string> text = ReadText(directory_.get(), "cpu.stat")) ParseCpuStat(*text, values);
  std::optional<int64_t> quota;
  if (unified) {
    if (std::optional<std::string> text = ReadText(directory_.get(), "cpu.max")) quota = ParseQuota(*text);
  } else {
    std::optional<int64_t> us = ReadNumber(directory_.get(), "cpu.cfs_quota_us");
    std::optional<int64_t> period = ReadNumber(directory_.get(), "cpu.cfs_period_us");
    if (us && period && *period > 0) quota = *us < 0 ? 0 : *us * 1000 / *period;
  }
  if (quota) values->push_back({Metric::kQuotaMilliCpus, *quota});
}

void Cgroup::ReadMemory(std::vector<MetricValue>* values) const {
  bool unified = place_.controller.empty();
  std::optional<int64_t> usage = ReadNumber(directory_.get(), unified ? "memory.current" : "memory.usage_in_bytes");
  if (usage) values->push_back({Metric::kMemoryKb, *usage / 1024});
  std::optional<std::string> limit = ReadText(directory_.get(), unified ? "memory.max" : "memory.limit_in_bytes");
  if (std::optional<int64_t> kb = limit ? LimitOf(*limit) : std::nullopt)
    values->push_back({Metric::kMemoryLimitKb, *kb});
  std::optional<std::string> events = ReadText(directory_.get(), unified ? "memory.events" : "memory.oom_control");
  if (std::optional<int64_t> kills = events ? NumberOf(*events, "oom_kill") : std::nullopt)
    values->push_back({Metric::kCgroupOomKills, *kills});
}

void Cgroup::ReadFreezer(std::vector<MetricValue>* values) const {
  if (place_.controller.empty()) {
    std::optional<std::string> events = ReadText(directory_.get(), "cgroup.events");
    if (std::optional<int64_t> frozen = events ? NumberOf(*events, "frozen") : std::nullopt)
      values->push_back({Metric::kFrozen, *frozen});
  } else if (std::optional<std::string> state = ReadText(directory_.get(), "freezer.state")) {
    values->push_back({Metric::kFrozen, state->starts_with("FROZEN")});
  }
}

bool Cgroup::IsLimited() const {
  std::vector<MetricValue> values = Read();
  return std::any_of(values.begin(), values.end(), [](const MetricValue& value) {
    return (value.metric == Metric::kQuotaMilliCpus || value.metric == Metric::kMemoryLimitKb) && value.value > 0;
  });
}

std::vector<CgroupPlace> PlacesOf(pid_t pid, const std::vector<CgroupMount>& mounts) {
  std::string path = "/proc/" + std::to_string(pid) + "/cgroup";
  std::optional<std::string> text = ReadText(AT_FDCWD, path.c_str());
  if (!text) return {};
  std::vector<CgroupPlace> own = ParseCgroups(*text), places = own;
  for (const CgroupPlace& place : own) {
    size_t limited = 0;
    for (std::string above = Above(place.path); !above.empty() && limited < kMostAbove; above = Above(above)) {
      CgroupPlace upper{place.controller, above};
      Cgroup cgroup(upper, DirectoryOf(upper, mounts));
      if (!cgroup.exists() || !cgroup.IsLimited()) continue;
      places.push_back(upper);
      ++limited;
    }
  }
  return places;
}

}  // namespace ddbg::collector
