#include "analyzer/report/run_summary.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

#include "analyzer/load/liveness.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/format.h"
#include "analyzer/model/losses.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kMaxLossParts = 4;  // of the first line: it shall be read

void SummarizeLosses(const Process& process, std::vector<std::string>* parts) {
  for (size_t cause = 0; cause < process.lost.size() && cause < kLossCauses; ++cause) {
    if (process.lost[cause] == 0) continue;
    parts->push_back(
        fmt::format("{} on {} ({})", Counted(process.lost[cause], "record"), ProcessName(process), LossText(cause)));
  }
}

}  // namespace

ProcessSummary Summarize(const Process& process) {
  ProcessSummary summary;
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (call.call < kFirstCall || (call.flags & kFlagSecondHalf)) continue;
    ++summary.calls;
    if (!IsMark(call)) summary.last_call = i;
    if (call.open() && summary.open_call == kNoIndex) summary.open_call = i;
  }
  if (summary.open_call != kNoIndex) {
    bool running = process.end.how == ProcessEnd::kRunning;
    int64_t until = running ? std::max(process.last_seen_ns, NowOf(process)) : process.last_seen_ns;
    summary.open_ns = until - process.calls[summary.open_call].start_ns;
  }
  for (const CallSums& sums : process.dropped.sums)
    if (sums.call >= kFirstCall) summary.dropped_calls += sums.calls;
  summary.calls += summary.dropped_calls;
  struct stat file;
  for (const std::string& path : process.files)
    if (stat(path.c_str(), &file) == 0) summary.file_bytes += static_cast<uint64_t>(file.st_size);
  return summary;
}

LoaderWorkers LoaderWorkersOf(const Process& process) {
  LoaderWorkers workers;
  for (size_t i = process.calls.size(); i-- > 0;) {
    const Call& call = process.calls[i];
    if (!call.known() || call.info().kind != CallKind::Event || MarkName(process, call) != "loader_workers") continue;
    std::string text = MarkText(process, call);  // "fork: 12,13"
    size_t at = text.find(": ");
    if (at == text.npos) return workers;
    workers.start_method = text.substr(0, at);
    std::istringstream list(text.substr(at + 2));
    for (std::string pid; std::getline(list, pid, ',');) workers.pids.push_back(atoi(pid.c_str()));
    if (workers.pids.size() < call.count) workers.pids.pop_back();  // too many for a text, which cuts the last one
    return workers;
  }
  return workers;
}

int32_t WorldSize(const Run& run) {
  int32_t size = -1;
  for (const Process& process : run.processes) size = std::max(size, process.world_size());
  return size;
}

std::vector<int32_t> MissingRanks(const Run& run) {
  std::set<int32_t> there;
  for (const Process& process : run.processes) there.insert(process.rank());
  std::vector<int32_t> missing;
  for (int32_t rank = 0; rank < WorldSize(run); ++rank) {
    if (!there.count(rank)) missing.push_back(rank);
  }
  return missing;
}

std::string LossLine(const Run& run) {
  std::vector<std::string> parts;
  size_t damaged = 0;
  for (const Process& process : run.processes) {
    SummarizeLosses(process, &parts);
    damaged += !process.damage.empty();
  }
  if (parts.size() > kMaxLossParts) {
    std::string rest = fmt::format("{} more like these", parts.size() - kMaxLossParts);
    parts.resize(kMaxLossParts);
    parts.push_back(rest);
  }
  if (damaged) parts.push_back(fmt::format("parts of {}, see below", Counted(damaged, "file")));
  if (!run.unreadable.empty()) parts.push_back(fmt::format("{} unreadable", Counted(run.unreadable.size(), "file")));
  std::string line = parts.empty() ? "nothing lost" : fmt::format("LOST: {}", fmt::join(parts, "; "));
  if (uint64_t calls = DroppedCalls(run)) line += fmt::format("; {} older calls are kept in sums only", Grouped(calls));
  return line;
}

uint64_t DroppedCalls(const Run& run) {
  uint64_t calls = 0;
  for (const Process& process : run.processes)
    for (const CallSums& sums : process.dropped.sums)
      if (sums.call >= kFirstCall) calls += sums.calls;
  return calls;
}

std::string ProcessName(const Process& process) {
  if (process.rank() >= 0) return fmt::format("rank {}", process.rank());
  return fmt::format("pid {} on {}", process.pid, process.host);
}

}  // namespace ddbg::analyzer
