// One axis for the events of a run: ns since the run's first event, as the host of the first process counts them.
// Within one boot of a host all clocks are one; hosts are laid side by side by what their ranks said to each other
// (align.h), and by their wall clocks where they said nothing. No event order on it contradicts causality.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/align/align.h"
#include "analyzer/align/host_axis.h"
#include "analyzer/match/match.h"
#include "analyzer/match/messages.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

class Timeline {
 public:
  Timeline(const Run& run, const Matching& matching, const Messages& messages);
  // Matches by itself, if there is more than one host.
  explicit Timeline(const Run& run);

  // `t_ns` of process run.processes[process], on the axis. INT64_MAX, as in "never", stays what it is.
  int64_t At(size_t process, int64_t t_ns) const { return alignment_.axes[HostOf(process)].At(t_ns); }
  // The time of that process's own clock at a place on the axis; the earliest, where there are several.
  int64_t Back(size_t process, int64_t axis_ns) const { return alignment_.axes[HostOf(process)].Back(axis_ns); }
  // By how much two processes' times near `axis_ns` may be wrong against each other: 0 within one boot of a host,
  // kUnknownError where only wall clocks tie them together.
  int64_t ErrorNs(size_t a, size_t b, int64_t axis_ns) const;

  // The latest thing seen of any process, on the axis; 0 for an empty run.
  int64_t end_ns() const { return end_ns_; }
  // CLOCK_REALTIME at the axis' 0; 0 if unknown.
  int64_t realtime_ns() const { return realtime_ns_; }

  // Boots of hosts, in the order of their first processes. The first one's clock is the axis.
  size_t HostOf(size_t process) const { return alignment_.host_of[process]; }
  const Alignment& alignment() const { return alignment_; }

 private:
  void Begin(const Run& run);

  Alignment alignment_;  // its axes begin at the run's first event
  int64_t end_ns_ = 0;
  int64_t realtime_ns_ = 0;
};

}  // namespace ddbg::analyzer
