#include "tests/golden/log_job.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tests/golden/log_text.h"

namespace ddbg::analyzer {
namespace {

void Shift(SampleSeries* series, int64_t shift_ns) {
  for (int64_t& t_ns : series->t_ns) t_ns += shift_ns;
  for (auto& [t_ns, where] : series->kernel_waits) t_ns += shift_ns;
}

void Shift(Process* process, int64_t shift_ns) {
  process->start_monotonic_ns += shift_ns;
  for (Call& call : process->calls) call.start_ns += shift_ns;
  process->end.t_ns += shift_ns;
  process->last_seen_ns += shift_ns;
  if (process->dropped.until_ns != 0) process->dropped.until_ns += shift_ns;
  for (CallSums& sums : process->dropped.sums) sums.t_min_ns += shift_ns, sums.t_max_ns += shift_ns;
  Shift(&process->samples, shift_ns);
}

void Shift(NodeTelemetry* node, int64_t shift_ns) {
  Shift(&node->system, shift_ns);
  for (auto* all : {&node->cgroups, &node->interfaces, &node->file_systems})
    for (auto& [name, series] : *all) Shift(&series, shift_ns);
  for (WallClockStep& step : node->clock_steps) step.t_ns += shift_ns;
}

// What the log calls 0 is a time at which each host has been up for long, for each another one.
void StartClocks(Run* run) {
  constexpr int64_t kUpNs = 70'000'000'000'000, kMoreNs = 3'600'000'000'000, kRealtimeNs = 1'700'000'000'000'000'000;
  std::map<std::string, int64_t> up;
  auto up_ns = [&](const std::string& host) {
    return up.try_emplace(host, kUpNs + static_cast<int64_t>(up.size()) * kMoreNs).first->second;
  };
  for (Process& process : run->processes) {
    Shift(&process, up_ns(process.host));
    process.start_realtime_ns += kRealtimeNs;
  }
  for (NodeTelemetry& node : run->nodes) Shift(&node, up_ns(node.host));
}

}  // namespace

std::vector<int> LogJob::Who(const std::string& text) const {
  if (Trimmed(text) != "all") return Numbers(text);
  std::vector<int> all(run.processes.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool LogJob::ForRanks(const std::string& text, const std::function<void(int, const std::string&)>& act) const {
  size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  for (int rank : Who(text.substr(0, colon))) act(rank, Trimmed(text.substr(colon + 1)));
  return true;
}

Run LogJob::Finish() {
  for (auto rank = unseen.rbegin(); rank != unseen.rend(); ++rank) run.processes.erase(run.processes.begin() + *rank);
  for (Process& process : run.processes) {
    if (process.open_detail.empty())
      std::stable_sort(process.calls.begin(), process.calls.end(),
                       [](const Call& a, const Call& b) { return a.start_ns < b.start_ns; });
    if (process.end.how == ProcessEnd::kRunning)
      run.live = true, process.last_seen_ns = std::max(now_ns, process.last_seen_ns);
  }
  StartClocks(&run);
  return std::move(run);
}

}  // namespace ddbg::analyzer
