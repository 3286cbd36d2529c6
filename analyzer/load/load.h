// Trace files to the model. Any input is safe: what is damaged is named in one sentence and the rest is used. Files are
// read on all processors; what comes of it does not depend on how many there are. Call from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/run_dirs.h"
#include "analyzer/model/model.h"
#include "proto/result.h"

namespace ddbg::analyzer {

struct LoadOptions {
  // Only so much of the end of the run, by the hosts' wall clocks. Who a process is, what its ids mean, how it began
  // and what of it was not over then is always there; the rest of what comes before is in Process::dropped.
  std::optional<int64_t> last_ns;
  // What would take more memory than this is cut to the latest time that does not, with a caveat; 0: half of what the
  // machine has.
  uint64_t memory_bytes = 0;
  unsigned threads = 0;  // 0: one a processor
  // Bytes of files; after each process, from any thread, one at a time.
  std::function<void(uint64_t done, uint64_t all, std::string_view what)> progress;
};

// Never fails as a whole: files that give nothing are in Run::unreadable, damage within one is in Process::damage.
// A process without an end is kRunning only if it is (see liveness.h), else kGone; Run::live: some process is kRunning.
// Of files of several runs or attempts only those of the newest are used (survey.h), with a caveat.
Run LoadRun(const RunFiles& files, const LoadOptions& options = {});

// The process of one rank-* or proc-* file, from all files it has. An error if there is no Process packet in it, since
// nothing in it could be told to be whose. The end of a process that has none in the file is left at kRunning.
Result<Process> LoadProcess(const std::string& path);

// ResolveRun and LoadRun for the names people gave. Of a process that has ended within the last second it awaits the
// end of its file. An error if no process at all could be read.
Result<Run> OpenRun(const std::vector<std::string>& names, const LoadOptions& options = {});

// What the collectors saw of their nodes, one entry a host.
std::vector<NodeTelemetry> LoadNodes(const RunFiles& files);

// What LoadRun does at the end, for who loads by himself: concludes how processes without an end are, joins spawned
// worlds (worlds.h), sorts by rank.
void SettleRun(Run* run);

}  // namespace ddbg::analyzer
