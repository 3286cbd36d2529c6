// Which events `ddbg events` shows, and in which order: by time over all ranks. Plain functions on the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/align/timeline.h"
#include "analyzer/model/model.h"
#include "analyzer/report/selection.h"
#include "analyzer/steps/steps.h"
#include "proto/result.h"

namespace ddbg::analyzer {

struct EventFilter : Selection {
  std::string kind;               // as KindName; empty: all
  std::string call;               // "MPI_Send", "ncclAllReduce" or "send", "allreduce", in any case; empty: all
  std::optional<int32_t> stream;  // id, of calls that name a stream
  std::optional<int32_t> device;  // ordinal, of calls that name one or a stream or communicator on it
  uint64_t limit = 0;             // 0: no limit
};

// An error if `kind` is none.
Result<void> CheckFilter(const EventFilter& filter);

// An event: run.processes[process].calls[call], from `at_ns` to `end_ns` on the axis (open: INT64_MAX).
struct Event {
  size_t process;
  size_t call;
  int64_t at_ns, end_ns;
  int64_t step = -1;  // -1: outside of all steps, or nobody asked
};

// Calls show(event) for each event that passes, in order of time, ties by rank. Stops early if show returns false.
// `steps` is needed where the filter asks for some, and for the events' own.
void ForEachEvent(const Run& run, const Timeline& timeline, const EventFilter& filter,
                  const std::function<bool(const Event&)>& show, const Steps* steps = nullptr);

}  // namespace ddbg::analyzer
