// Reading samples into the model, and what follows from them: states over a time, shares of the CPU, throttling,
// out-of-memory kills. All times are ns of the host's CLOCK_MONOTONIC. Where nothing was sampled, nothing is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "proto/ddbg.pb.h"

namespace ddbg::analyzer {

// Appends a packet's entries; those that are not later than what is there are dropped. False if it is malformed.
bool AddSamples(const proto::Samples& packet, SampleSeries* series);

// Reads the packets of a node's file.
class NodeLoader {
 public:
  // `bytes` is one protobuf Chunk. Any bytes are safe; what is malformed is left out.
  void Add(std::string_view bytes, NodeTelemetry* node);
};

// The telemetry of a process's host; nullptr if there is none.
const NodeTelemetry* NodeOf(const Run& run, const Process& process);

// The last value at or before `t_ns`, the first one before all of them; nothing where it was never read.
std::optional<int64_t> ValueAt(const SampleSeries& series, Metric metric, int64_t t_ns);

// How much a counter grew from `from_ns` to `to_ns`; where it fell (a thread ended, a cgroup was made anew) it goes on
// from there. Nothing where it was never read or no entry lies in the time.
std::optional<int64_t> Growth(const SampleSeries& series, Metric metric, int64_t from_ns, int64_t to_ns);

// A time in which a process could not run: stopped, frozen, or asleep for a device.
struct StateInterval {
  int64_t from_ns = 0;    // the first entry that shows it
  int64_t to_ns = 0;      // the last one
  int64_t before_ns = 0;  // the last entry before, which does not; from_ns if there is none
  bool over = false;      // a later entry does not show it
  char state = 0;         // 'T', 't' by a debugger, 'F' by the cgroup's freezer, 'D'
  int64_t tracer = 0;     // pid of the debugger
};

// Stops by a signal, a debugger or the freezer; in order.
std::vector<StateInterval> StopsOf(const Run& run, const Process& process);
// Uninterruptible sleeps that lasted from one entry to the next, but for the freezer's.
std::vector<StateInterval> DiskSleepsOf(const Run& run, const Process& process);

// How much of a time a process spent in uninterruptible sleep, as far as its entries tell.
int64_t DiskSleepNs(const Run& run, const Process& process, int64_t from_ns, int64_t to_ns);

// CPU time and run-queue wait of the threads that make recorded calls.
struct CpuShare {
  int64_t run_ns = 0, wait_ns = 0;
  double waiting() const {
    return run_ns + wait_ns == 0 ? 0.0 : static_cast<double>(wait_ns) / static_cast<double>(run_ns + wait_ns);
  }
};
std::optional<CpuShare> CpuShareOf(const Process& process, int64_t from_ns, int64_t to_ns);

// The cgroup of the process that was throttled most in a time.
struct Throttling {
  std::string cgroup;
  int64_t throttled_ns = 0;  // at most the time: what is told is a sum over CPUs
  int64_t periods = 0, throttled_periods = 0;
  int64_t quota_milli_cpus = 0;
};
std::optional<Throttling> ThrottlingOf(const Run& run, const Process& process, int64_t from_ns, int64_t to_ns);

// Processes that the kernel killed for want of memory in a time.
struct OomKills {
  std::string cgroup;                // the process's own; "" if it is not known
  std::optional<int64_t> in_cgroup;  // not known: nothing
  std::optional<int64_t> on_node;
  int64_t limit_kb = 0;  // of the cgroup or the one above that has the least; 0: none
  int64_t usage_kb = 0;
};
OomKills OomKillsOf(const Run& run, const Process& process, int64_t from_ns, int64_t to_ns);

// "memory:/job/1" → "/job/1".
std::string_view CgroupPath(std::string_view name);

}  // namespace ddbg::analyzer
