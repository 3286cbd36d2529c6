// The tracks of a run in a Perfetto trace, each described in the trace when it is first asked for: a process a rank
// with its threads and CUDA streams, and a process "communicators" with a track a communicator.
//
// What may overlap in time is laid in lanes: sibling tracks of one name, which the viewer shows as one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/export/perfetto_writer.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

class RunTracks {
 public:
  RunTracks(const Run& run, PerfettoWriter* writer);

  uint64_t Process(size_t process);
  uint64_t Thread(size_t process, uint32_t thread);
  uint64_t Communicators();
  // Each returns a lane that is free at start_ns and takes it until end_ns (INT64_MAX: for good).
  uint64_t Stream(size_t process, int32_t stream, int64_t start_ns, int64_t end_ns);
  uint64_t Polls(size_t process, uint32_t thread, int64_t start_ns, int64_t end_ns);
  uint64_t Communicator(size_t group, const std::string& name, int64_t start_ns, int64_t end_ns);

 private:
  enum Kind { kStream, kPolls, kCommunicator };
  struct Lane {
    uint64_t track;
    int64_t free_ns;
  };
  using Lanes = std::vector<Lane>;

  uint64_t New() { return next_++; }
  uint64_t LaneOf(Lanes* lanes, uint64_t parent, const std::string& name, int64_t start_ns, int64_t end_ns);
  int32_t Pid(size_t process) const;

  const Run& run_;
  PerfettoWriter* writer_;
  uint64_t next_ = 1;
  // Perfetto tells processes apart by pid, and threads by tid: where these come twice, as on several hosts or in
  // containers, processes and threads are numbered instead.
  bool numbered_;
  int32_t communicators_pid_, next_tid_;
  uint64_t communicators_ = 0;
  std::vector<uint64_t> processes_;
  std::vector<std::map<uint32_t, uint64_t>> threads_;
  std::map<std::tuple<Kind, size_t, uint32_t>, Lanes> lanes_;
};

// "rank 3 (node7, pid 4711)", "node7, pid 4711" of a process without a rank.
std::string TrackName(const Process& process);

}  // namespace ddbg::analyzer
