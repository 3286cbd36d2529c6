#include "analyzer/launch/hang_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/align/timeline.h"
#include "analyzer/load/liveness.h"
#include "analyzer/load/load.h"
#include "analyzer/load/run_dirs.h"
#include "proto/clock_ticks.h"

namespace ddbg::analyzer {
namespace {

// What a file may grow by between two looks without a call having ended: the open call itself, notes, clock points.
constexpr uint64_t kQuietBytes = 4096;

int64_t LastReturn(const Process& process) {
  int64_t last = process.start_monotonic_ns;
  for (const Call& call : process.calls) {
    if (call.open() || call.call == kCallLost || (call.flags & kFlagNothingDone)) continue;
    last = std::max(last, call.start_ns + call.duration_ns);
  }
  return last;
}

bool HasOpenCall(const Process& process) {
  return process.end.how == ProcessEnd::kRunning &&
         std::any_of(process.calls.begin(), process.calls.end(), [](const Call& call) { return call.open(); });
}

}  // namespace

bool IsHanging(const Run& run, double seconds, int64_t now_ns) {
  Timeline timeline(run);
  int64_t last = INT64_MIN, here = INT64_MIN;
  bool open = false;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const Process& process = run.processes[i];
    last = std::max(last, timeline.At(i, LastReturn(process)));
    open = open || HasOpenCall(process);
    if (int64_t now = NowOf(process)) here = std::max(here, timeline.At(i, now));
  }
  // Wall clocks of other machines may be off; so may be this one's against theirs, if none of the ranks is here.
  now_ns = here != INT64_MIN ? here : now_ns - timeline.realtime_ns();
  return open && static_cast<double>(now_ns - last) >= seconds * 1e9;
}

bool HangWatch::IsQuiet(const std::string& attempt_dir) {
  std::map<std::string, uint64_t> sizes;
  bool quiet = true;
  for (const std::string& path : ListTraceFiles(attempt_dir)) {
    struct stat file;
    if (stat(path.c_str(), &file) != 0) continue;
    uint64_t size = static_cast<uint64_t>(file.st_size);
    auto before = sizes_.find(path);
    quiet = quiet && before != sizes_.end() && size <= before->second + kQuietBytes;
    sizes[path] = size;
  }
  sizes_ = std::move(sizes);
  return quiet && !sizes_.empty();
}

std::optional<Run> HangWatch::Look() {
  if (told_ || seconds_ <= 0) return std::nullopt;
  std::string attempt = LastAttempt(run_dir_);
  if (attempt.empty()) return std::nullopt;
  int64_t now = MonotonicNs();
  if (!IsQuiet(attempt))
    quiet_since_ns_ = 0;
  else if (quiet_since_ns_ == 0)
    quiet_since_ns_ = now;
  if (quiet_since_ns_ == 0 || static_cast<double>(now - quiet_since_ns_) < seconds_ * 1e9) return std::nullopt;
  quiet_since_ns_ = now;  // whatever is found, do not load again before as long a time
  Run run = LoadRun({attempt, ListTraceFiles(attempt)});
  if (!IsHanging(run, seconds_, RealtimeNs())) return std::nullopt;
  told_ = true;
  return run;
}

}  // namespace ddbg::analyzer
