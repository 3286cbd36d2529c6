// One axis for the events of a run: ns since the run's first event. Within one boot of a host all clocks are one; hosts
// are laid side by side by their wall clocks at the start of each process, which is as good as those are set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/model.h"

namespace ddbg::analyzer {

class Timeline {
 public:
  explicit Timeline(const Run& run);

  // `t_ns` of process run.processes[process], on the axis.
  int64_t At(size_t process, int64_t t_ns) const { return t_ns + shift_[process]; }
  // The time of that process's own clock at a place on the axis.
  int64_t Back(size_t process, int64_t axis_ns) const { return axis_ns - shift_[process]; }

  // The latest thing seen of any process, on the axis; 0 for an empty run.
  int64_t end_ns() const { return end_ns_; }
  // CLOCK_REALTIME at the axis' 0; 0 if unknown.
  int64_t realtime_ns() const { return realtime_ns_; }

 private:
  std::vector<int64_t> shift_;  // by process
  int64_t end_ns_ = 0;
  int64_t realtime_ns_ = 0;
};

}  // namespace ddbg::analyzer
