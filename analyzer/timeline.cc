#include "analyzer/timeline.h"

#include <algorithm>
#include <map>
#include <string>

namespace ddbg::analyzer {
namespace {

int64_t FirstEvent(const Process& process) {
  return process.calls.empty() ? process.start_monotonic_ns : process.calls.front().start_ns;
}

}  // namespace

Timeline::Timeline(const Run& run) {
  // One offset a boot, so that events of one host keep their order to the nanosecond.
  std::map<std::string, int64_t> wall_minus_monotonic;
  int64_t first = INT64_MAX, last = 0;
  for (const Process& process : run.processes) {
    int64_t offset = process.start_realtime_ns ? process.start_realtime_ns - process.start_monotonic_ns : 0;
    offset = wall_minus_monotonic.try_emplace(process.host + '\n' + process.boot_id, offset).first->second;
    shift_.push_back(offset);
    first = std::min(first, FirstEvent(process) + offset);
    last = std::max(last, std::max(process.last_seen_ns, FirstEvent(process)) + offset);
  }
  if (run.processes.empty()) return;
  for (int64_t& shift : shift_) shift -= first;
  end_ns_ = last - first;
  realtime_ns_ = run.processes.front().start_realtime_ns ? first : 0;
}

}  // namespace ddbg::analyzer
