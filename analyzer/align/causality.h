// What cannot have happened before what on another host, whatever the clocks say: nobody leaves a synchronising
// collective before the last one has entered it, and no receive ends before its send began. Times are of each host's
// own clock. Only what is certain: a collective that may pass by a rank without waiting says nothing, and neither does
// anything behind the first mismatch of a communicator. Refers to the run, the matching and the messages.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/match/match.h"
#include "analyzer/match/messages.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// An instant on a host.
struct Moment {
  uint32_t host = 0;
  int64_t t_ns = 0;
};

// All of `before` happened before any of `after`. At most one moment of a host in each: the latest and the earliest.
struct Crossing {
  std::vector<Moment> before, after;
  // A collective that all leave at about the same time.
  bool together = false;
  // A message whose receiver was waiting for it took about so long; -1: nobody knows.
  int64_t transit_ns = -1;
};

class Causality {
 public:
  // `host_of`: by process, below `hosts`.
  Causality(const Run& run, const Matching& matching, const Messages& messages, std::span<const size_t> host_of,
            size_t hosts);

  // Calls for every crossing between hosts, those of a communicator or channel in order. O(calls).
  void ForEach(const std::function<void(const Crossing&)>& look) const;

 private:
  // By operation that was begun by a call: when it was known to be over. Sorted by call.
  using Ends = std::vector<std::pair<size_t, int64_t>>;

  void FindEnds(size_t process);
  void FindStreamEnds(size_t process);
  // When call `index` of a process, or the operation it began, was over; INT64_MAX: not known.
  int64_t EndOf(size_t process, size_t index) const;
  void OfGroup(const CommGroup& group, const std::function<void(const Crossing&)>& look) const;
  void OfInits(const std::function<void(const Crossing&)>& look) const;
  void OfChannel(const ChannelEnds& ends, const std::function<void(const Crossing&)>& look) const;

  const Run& run_;
  const Matching& matching_;
  const Messages& messages_;
  std::span<const size_t> host_of_;
  size_t hosts_;
  std::vector<Ends> ends_;  // by process
};

}  // namespace ddbg::analyzer
