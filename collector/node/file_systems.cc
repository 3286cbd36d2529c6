#include "collector/node/file_systems.h"

#include <sys/statvfs.h>

namespace ddbg::collector {
namespace {

constexpr size_t kMostMounts = 16;

// Of the system's own, that no job writes to.
bool IsOfTheSystem(std::string_view point) {
  for (std::string_view prefix : {"/run/user", "/run/credentials", "/sys", "/proc", "/run/lock", "/run/systemd"})
    if (point.starts_with(prefix)) return true;
  return false;
}

}  // namespace

std::vector<std::string> ParseTmpfsMounts(std::string_view text) {
  std::vector<std::string> points;
  while (!text.empty() && points.size() < kMostMounts) {
    std::string_view line = NextLine(&text);
    for (int i = 0; i < 4; ++i) NextWord(&line);
    std::string_view point = NextWord(&line);
    size_t dash = line.find(" - ");
    if (dash == line.npos || point.find('\\') != point.npos) continue;
    line.remove_prefix(dash + 3);
    if (NextWord(&line) == "tmpfs" && !IsOfTheSystem(point)) points.emplace_back(point);
  }
  return points;
}

std::vector<MetricValue> ReadFileSystem(const std::string& path) {
  struct statvfs status;
  if (statvfs(path.c_str(), &status) != 0 || status.f_blocks == 0) return {};
  auto kilobytes = [&](uint64_t blocks) { return static_cast<int64_t>(blocks * status.f_frsize / 1024); };
  return {{Metric::kTotalKb, kilobytes(status.f_blocks)}, {Metric::kAvailableKb, kilobytes(status.f_bavail)}};
}

}  // namespace ddbg::collector
