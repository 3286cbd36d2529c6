#include "analyzer/load/liveness.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "proto/host_clock.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kFreshFileNs = 10'000'000'000;
constexpr int64_t kFollowedNs = 15'000'000'000;  // a clock point is due every ten seconds (collector/session.cc)
constexpr int64_t kStartSlackNs = 100'000'000;   // start times in /proc are in hundredths of a second

std::string ReadSmallFile(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

int64_t NowNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool IsThisHost(const Process& process) {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  static const std::string boot_id = ReadSmallFile("/proc/sys/kernel/random/boot_id");
  return !process.boot_id.empty() && process.boot_id == boot_id && process.host == name;
}

// When the process with this pid started, ns of the host's CLOCK_MONOTONIC; nullopt if there is none or it is a zombie.
std::optional<int64_t> StartOf(int32_t pid) {
  std::string stat = ReadSmallFile(fmt::format("/proc/{}/stat", pid));
  size_t name_end = stat.rfind(')');  // the name may hold anything, also ')'
  if (name_end == stat.npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  for (int i = 4; i <= 21; ++i) fields >> skipped;
  long long ticks = 0;
  if (!(fields >> ticks)) return std::nullopt;
  int64_t since_boot = ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK));
  // In between lies the time asleep. /proc and both clocks are those of our own time namespace.
  return since_boot - (NowNs(CLOCK_BOOTTIME) - NowNs(CLOCK_MONOTONIC)) - MonotonicOffsetNs();
}

bool FileIsFresh(const std::string& path, int64_t most_ns = kFreshFileNs) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return false;
  int64_t changed = int64_t{file.st_mtim.tv_sec} * 1'000'000'000 + file.st_mtim.tv_nsec;
  return NowNs(CLOCK_REALTIME) - changed < most_ns;
}

}  // namespace

bool StillRuns(const Process& process) {
  if (!IsThisHost(process)) return FileIsFresh(process.file);
  std::optional<int64_t> start = StartOf(process.pid);
  return start && *start <= process.start_monotonic_ns + kStartSlackNs;
}

int64_t FollowedUntil(const Process& process) {
  return IsThisHost(process) && FileIsFresh(process.file, kFollowedNs) ? HostMonotonicNs() : 0;
}

int64_t NowOf(const Process& process) { return IsThisHost(process) ? HostMonotonicNs() : 0; }

}  // namespace ddbg::analyzer
