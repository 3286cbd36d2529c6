#include "analyzer/align/timeline.h"

#include <algorithm>

namespace ddbg::analyzer {
namespace {

int64_t FirstEvent(const Process& process) {
  return process.calls.empty() ? process.start_monotonic_ns : process.calls.front().start_ns;
}

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kUnknownError : sum;
}

// Matches only where that can matter.
Alignment AlignByItself(const Run& run) {
  std::vector<size_t> hosts = HostsOf(run);
  bool one = std::all_of(hosts.begin(), hosts.end(), [](size_t host) { return host == 0; });
  return one ? Align(run, {}, {}) : Align(run, MatchCollectives(run), MatchMessages(run));
}

}  // namespace

Timeline::Timeline(const Run& run) : alignment_(AlignByItself(run)) { Begin(run); }

Timeline::Timeline(const Run& run, const Matching& matching, const Messages& messages)
    : alignment_(Align(run, matching, messages)) {
  Begin(run);
}

void Timeline::Begin(const Run& run) {
  if (run.processes.empty()) return;
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const Process& process = run.processes[i];
    first = std::min(first, At(i, FirstEvent(process)));
    last = std::max(last, At(i, std::max(process.last_seen_ns, FirstEvent(process))));
  }
  end_ns_ = last - first;
  const Process& process = run.processes.front();
  if (process.start_realtime_ns) realtime_ns_ = first + (process.start_realtime_ns - process.start_monotonic_ns);
  for (HostAxis& axis : alignment_.axes) axis.Shift(-first);
}

int64_t Timeline::ErrorNs(size_t a, size_t b, int64_t axis_ns) const {
  size_t host_a = HostOf(a), host_b = HostOf(b);
  if (host_a == host_b) return 0;
  const HostAxis &of_a = alignment_.axes[host_a], &of_b = alignment_.axes[host_b];
  return Sum(of_a.ErrorNs(of_a.Back(axis_ns)), of_b.ErrorNs(of_b.Back(axis_ns)));
}

}  // namespace ddbg::analyzer
