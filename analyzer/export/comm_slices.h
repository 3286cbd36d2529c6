// Collectives of a communicator as stretches of time: from the first member's entry to the last one's leave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/align/timeline.h"
#include "analyzer/match/match.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct CommSlice {
  int64_t first_entry_ns = 0, last_entry_ns = 0, end_ns = 0;  // on the axis; end_ns: as far as it is known
  size_t first_process = 0, last_process = 0;                 // who came first and last
  size_t first_call = 0;                                      // of first_process
  uint32_t came = 0;
  bool on_device = false;               // the end is that on the devices, not that of the calls
  std::vector<int32_t> missing;         // ranks in the communicator that are traced and never called it
  std::vector<int32_t> never_returned;  // ranks in it whose call is open
};

class CommSlices {
 public:
  // `run` with the times at which devices finished operations, where these were recorded.
  CommSlices(const Run& run, const Timeline& timeline);

  // nullopt: no member's call is in the trace.
  std::optional<CommSlice> Of(const CommGroup& group, size_t seq) const;

 private:
  const Run& run_;
  const Timeline& timeline_;
  // by process: operation → when the device was done with it, own clock
  std::vector<std::unordered_map<uint64_t, int64_t>> device_end_;
};

}  // namespace ddbg::analyzer
