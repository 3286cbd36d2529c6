#include "analyzer/load/settle.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "analyzer/load/load.h"
#include "analyzer/load/run_dirs.h"
#include "proto/clock_ticks.h"

namespace ddbg::analyzer {
namespace {

constexpr auto kPause = std::chrono::milliseconds(20);
constexpr int64_t kStillMs = 100;  // without a change: worth to be loaded

int64_t NowMs() { return MonotonicNs() / 1'000'000; }

// Size and change time by path.
using Snapshot = std::map<std::string, std::pair<int64_t, int64_t>>;

Snapshot Take(const std::string& run_dir) {
  Snapshot snapshot;
  std::string attempt = LastAttempt(run_dir);
  if (attempt.empty()) return snapshot;
  for (const std::string& path : ListTraceFiles(attempt)) {
    struct stat file;
    if (stat(path.c_str(), &file) != 0) continue;
    snapshot[path] = {file.st_size, int64_t{file.st_mtim.tv_sec} * 1'000'000'000 + file.st_mtim.tv_nsec};
  }
  return snapshot;
}

Run Load(const std::string& run_dir) {
  std::string attempt = LastAttempt(run_dir);
  return LoadRun({attempt, ListTraceFiles(attempt)});
}

bool IsComplete(const Run& run) {
  return !run.processes.empty() && std::all_of(run.processes.begin(), run.processes.end(),
                                               [](const Process& process) { return process.end.recorded; });
}

}  // namespace

std::optional<Run> LoadWhenSettled(const std::string& run_dir, const SettlePatience& patience) {
  int64_t begin = NowMs(), changed = begin;
  Snapshot last, loaded;
  std::optional<Run> run;
  for (;; std::this_thread::sleep_for(kPause)) {
    int64_t now = NowMs();
    Snapshot snapshot = Take(run_dir);
    if (snapshot.empty() && now - begin < patience.appear_ms) continue;
    if (snapshot.empty()) return std::nullopt;
    if (snapshot != last) changed = now;
    last = snapshot;
    bool late = now - begin >= patience.total_ms || now - changed >= patience.quiet_ms;
    if (now - changed < kStillMs && !late) continue;
    if (snapshot != loaded) run = Load(run_dir);
    loaded = std::move(snapshot);
    if (late || IsComplete(*run)) return run;
  }
}

}  // namespace ddbg::analyzer
