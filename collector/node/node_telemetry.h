// Samples the node once a second while processes are recorded on it, and writes what it sees into the node's file of
// each run: CPU, memory, network, file systems, the cgroups of the processes, steps of the wall clock. In batches of
// some seconds; at once where something happened that explains a failure. Everything runs in the event loop, a
// millisecond or two a second.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/node/cgroup.h"
#include "collector/node/clock_steps.h"
#include "collector/node/sample_columns.h"
#include "collector/run_dir.h"

namespace ddbg::collector {

class NodeTelemetry {
 public:
  NodeTelemetry(asio::io_context& io, RunDirs& run_dirs) : run_dirs_(run_dirs), timer_(io) {}

  // A recorded process begins to be watched, or ends. Without any the timer rests, and the collector can end.
  void Join();
  void Leave();

  // The cgroups of a process, which are sampled from now on, as long as somebody holds what is returned.
  struct Followed {
    Cgroup cgroup;
    SampleColumns columns;
    int64_t oom_kills = 0, frozen = 0;
  };
  using Following = std::vector<std::shared_ptr<Followed>>;
  Following Follow(const std::vector<CgroupPlace>& places);

  const std::vector<CgroupMount>& cgroup_mounts() const { return cgroup_mounts_; }

  // Samples and writes now, unless a sample was taken since `since_ns`: counters that say how a process ended.
  void LookAgain(int64_t since_ns);

 private:
  void WaitForNext();
  void Sample();
  void SampleSystem();
  void SampleCgroups();
  void SampleNetwork();
  void SampleFileSystems();
  void Write();
  void LookAtMounts();

  RunDirs& run_dirs_;
  asio::steady_timer timer_;
  size_t watched_ = 0;
  int64_t now_ns_ = 0;     // of the last sample
  int64_t mounts_ns_ = 0;  // when mounts were last looked at
  bool urgent_ = false;
  ClockSteps clock_steps_;
  std::string steps_;  // packets
  SampleColumns system_{Subject::kSystem};
  std::map<std::string, SampleColumns> interfaces_, file_systems_;
  std::map<std::string, std::weak_ptr<Followed>> cgroups_;  // by name
  std::vector<CgroupMount> cgroup_mounts_;
  std::vector<std::string> tmpfs_;
};

}  // namespace ddbg::collector
