// A run in a few numbers, for `ddbg info` and the first line of every report. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct ProcessSummary {
  uint64_t calls = 0;           // completions, losses and second halves not counted
  uint64_t dropped_calls = 0;   // of these: known in sums only, to keep within the budget
  size_t last_call = kNoIndex;  // the latest started one
  size_t open_call = kNoIndex;  // the longest open one
  int64_t open_ns = 0;          // how long that has been open: until now if the process runs here, else when last seen
  uint64_t file_bytes = 0;
};
ProcessSummary Summarize(const Process& process);

// Processes that load data for this one, as the Python bridge has told: the latest that a DataLoader has started. They
// have no file of their own.
struct LoaderWorkers {
  std::string start_method;  // "fork", "spawn", "forkserver"
  std::vector<int32_t> pids;
};
LoaderWorkers LoaderWorkersOf(const Process& process);

// Ranks 0..world size-1 of which there is no process. Empty if the size is not known.
std::vector<int32_t> MissingRanks(const Run& run);
// The largest world size that any process speaks of; -1: unknown.
int32_t WorldSize(const Run& run);

// "nothing lost", or "LOST: 1,204 records on rank 3 (the ring was full); 1 file unreadable": what this run's files do
// not tell although it happened. Behind it how many older calls are there in sums only.
std::string LossLine(const Run& run);

// Of all processes, see ProcessSummary::dropped_calls.
uint64_t DroppedCalls(const Run& run);

// "rank 3", or "pid 1234 on host" of a process without a rank.
std::string ProcessName(const Process& process);

}  // namespace ddbg::analyzer
