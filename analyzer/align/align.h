// The clocks of all hosts laid on that of the first: within one boot of a host there is one clock. Between two hosts a
// fit (clock_fit.h) of all that bounds the one against the other (causality.h); hosts that share no communicator are
// tied over others, by the way on which the errors add up to the least, and by their wall clocks where there is no way.
// Afterwards no order of events contradicts causality between any two hosts: what the errors leave is pushed behind
// what it cannot have preceded (causal_order.h). O(calls × hosts of a communicator).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/align/host_axis.h"
#include "analyzer/match/match.h"
#include "analyzer/match/messages.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// The monotonic clock of a host stood still or leapt: the machine was suspended, moved or restored.
struct ClockStep {
  size_t host = 0, against = 0;         // indices of hosts
  int64_t after_ns = 0, before_ns = 0;  // by its own clock: somewhere in between
  int64_t lost_ns = 0;                  // that it lost; negative: gained
  int64_t error_ns = 0;
};

struct Alignment {
  std::vector<size_t> host_of;        // by process
  std::vector<size_t> first_process;  // by host
  std::vector<HostAxis> axes;         // by host: onto the first one's clock
  std::vector<ClockStep> steps;
  size_t contradictions = 0;  // bounds that were not kept: the recording contradicts itself there
};

Alignment Align(const Run& run, const Matching& matching, const Messages& messages);

// The host of each process, in the order of their first ones: a boot of a machine.
std::vector<size_t> HostsOf(const Run& run);

}  // namespace ddbg::analyzer
