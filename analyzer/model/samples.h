// Telemetry in the model: what the collector sampled of a process, a cgroup, a node, about once a second. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/telemetry.h"

namespace ddbg::analyzer {

// Values of one subject. Of a long run the older ones are thinned out.
struct SampleSeries {
  struct Column {
    Metric metric;
    std::vector<int64_t> values;  // by entry
  };

  std::vector<int64_t> t_ns;  // ascending, of the host's CLOCK_MONOTONIC
  std::vector<Column> columns;
  std::vector<std::pair<int64_t, std::string>> kernel_waits;  // when, and where in the kernel: of state D

  bool empty() const { return t_ns.empty(); }
  // The metric's values by entry; nullptr if it was never read.
  const std::vector<int64_t>* Of(Metric metric) const {
    for (const Column& column : columns)
      if (column.metric == metric) return &column.values;
    return nullptr;
  }
  std::vector<int64_t>* Of(Metric metric) { return const_cast<std::vector<int64_t>*>(std::as_const(*this).Of(metric)); }
};

struct WallClockStep {
  int64_t t_ns = 0;
  int64_t step_ns = 0;       // positive: the wall clock went ahead
  int64_t suspended_ns = 0;  // of it: the machine slept
};

// Of one host.
struct NodeTelemetry {
  std::string host;
  SampleSeries system;
  std::map<std::string, SampleSeries> cgroups, interfaces, file_systems;  // by name
  std::vector<WallClockStep> clock_steps;
};

}  // namespace ddbg::analyzer
