// What is to be loaded of a run, found out without reading its calls: whose file each is, which belong together, and
// from when on the calls fit into memory or into the time that was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/trace_directory.h"

namespace ddbg::analyzer {

// One process's files, by the first chunk of the oldest.
struct Candidate {
  std::string stem;
  std::string file;    // that was given
  bool known = false;  // it says whose it is
  std::string run_id, host, boot_id;
  uint32_t attempt_id = 0;
  int32_t rank = -1, world_size = -1, pid = 0;
  int64_t start_realtime_ns = 0, start_monotonic_ns = 0;
  uint64_t bytes = 0;
  // Calls that end earlier need not be kept; ns of the records' clock, INT64_MIN: keep all.
  int64_t keep_from_ns = INT64_MIN;
};

// Reads the first chunk of each; `files` are any of a process's files, one a process.
std::vector<Candidate> LookAt(const std::vector<std::string>& files, TraceDirectory* directory, unsigned threads);

// Takes out what does not belong to the newest attempt of the newest run, and copies of one process's files under
// other names; says so in a sentence each. Nodes that had no name for their job in common (bare mpirun) are one run by
// their ranks.
void KeepOneAttempt(std::vector<Candidate>* candidates, std::vector<std::string>* caveats);

// Sets keep_from_ns of all to `last_ns` before the end of the run, or later, so that the calls take about
// `memory_bytes` at most; a sentence of caveat for the latter.
void ChooseWindow(std::optional<int64_t> last_ns, uint64_t memory_bytes, TraceDirectory* directory, unsigned threads,
                  std::vector<Candidate>* candidates, std::vector<std::string>* caveats);

// Half of what the machine, or the control group we are in, has.
uint64_t UsableMemory();

}  // namespace ddbg::analyzer
