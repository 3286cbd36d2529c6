// The telemetry of one recorded process: its samples go to its own file, those of its cgroups to the node's.
#pragma once

#include <sys/types.h>

#include <string>

#include "collector/node/node_telemetry.h"
#include "collector/node/process_sampler.h"
#include "collector/pending_chunk.h"
#include "proto/ring_layout.h"

namespace ddbg::collector {

class ProcessTelemetry {
 public:
  // `pid` as this process sees it; 0: it cannot be seen from here, and only the node is watched.
  ProcessTelemetry(NodeTelemetry& node, const Region& region, pid_t pid);
  ~ProcessTelemetry() { node_.Leave(); }
  ProcessTelemetry(const ProcessTelemetry&) = delete;
  ProcessTelemetry& operator=(const ProcessTelemetry&) = delete;

  // Samples if it is time to. True if something was appended to `pending`.
  bool Tick(PendingChunk* pending);

  // The process has ended at `ended_ns`: puts what is left into the files, and what its cgroups say now.
  void End(int64_t ended_ns, PendingChunk* pending);

 private:
  void Take(PendingChunk* pending);
  bool LookAtCgroups(PendingChunk* pending);
  std::vector<uint32_t> RecordedThreads() const;

  NodeTelemetry& node_;
  Region region_;
  pid_t pid_;
  ProcessSampler sampler_;
  std::string cgroup_text_;
  NodeTelemetry::Following cgroups_;
};

}  // namespace ddbg::collector
