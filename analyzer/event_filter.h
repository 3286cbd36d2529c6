// Which events `ddbg events` shows, and in which order: by time over all ranks. Plain functions on the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/model.h"
#include "analyzer/timeline.h"
#include "proto/result.h"

namespace ddbg::analyzer {

struct EventFilter {
  std::set<int32_t> ranks;        // empty: all
  std::string comm;               // name, uid in hex, "world" or "self"; empty: all
  std::string kind;               // as KindName; empty: all
  std::string call;               // "MPI_Send", "ncclAllReduce" or "send", "allreduce", in any case; empty: all
  std::optional<int32_t> stream;  // id, of calls that name a stream
  std::optional<int32_t> device;  // ordinal, of calls that name one or a stream or communicator on it
  // Calls that lie in these times wholly or in part: a hang that began long ago is in the last minute too.
  std::optional<double> from_s, to_s;  // seconds since the run's first event
  std::optional<double> last_s;        // seconds before the last thing seen
  uint64_t limit = 0;                  // 0: no limit
};

// "0,3,8-11" to a set. The error is a sentence for the command line.
Result<std::set<int32_t>> ParseRanks(std::string_view text);

// An error if `kind` is none, or the times are the wrong way round.
Result<void> CheckFilter(const EventFilter& filter);

// An event: run.processes[process].calls[call], `at_ns` on the axis.
struct Event {
  size_t process;
  size_t call;
  int64_t at_ns;
};

// Calls show(event) for each event that passes, in order of time, ties by rank. Stops early if show returns false.
void ForEachEvent(const Run& run, const Timeline& timeline, const EventFilter& filter,
                  const std::function<bool(const Event&)>& show);

}  // namespace ddbg::analyzer
