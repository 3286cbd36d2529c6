// Who came when to each matched collective, and what every process did before it: its own time, apart from all waiting
// for others. That is what makes blame causal: a rank that is late because it waited itself has no own time to show.
//
//   call of the group   …──┤ #k ├──── own ────┤ MPI_Recv: waits ├── own ──┤ #k+1 ├──…
//                          exit                                          entry
//
// Own time is wall time outside of recorded calls ("host"), and inside those that wait for nobody else ("local": a
// device that has nothing of NCCL to do, copies, launches). Whatever may wait for a peer is left out as a whole, since
// how much of it was waiting is not known of one process alone. Ranks that are not traced or whose records were lost
// are left out, never guessed. Times of one process are its own clock's; only EntrySkew needs the common axis.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/align/timeline.h"
#include "analyzer/match/match.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// ns since the process's first call; of a stretch: the difference of two.
struct OwnTime {
  int64_t host_ns = 0;
  int64_t local_ns = 0;

  int64_t total() const { return host_ns + local_ns; }
  OwnTime operator-(const OwnTime& since) const { return {host_ns - since.host_ns, local_ns - since.local_ns}; }
};

// When the members of a group entered one call.
struct EntrySkew {
  int64_t first_ns = 0, last_ns = 0;         // on the axis
  size_t first_member = 0, last_member = 0;  // indices into CommGroup::members
  int64_t skew_ns() const { return last_ns - first_ns; }
};

class Arrivals {
 public:
  // Linear in the calls. Both must outlive it.
  Arrivals(const Run& run, const Matching& matching);

  // Until the entry of its `seq`-th call on the group; nullptr if it is not in the trace.
  const OwnTime* Until(size_t group, size_t member, size_t seq) const;
  // Between the exit of call seq - 1 and the entry of call `seq`; nothing where one of them is not in the trace, never
  // returned, or records were lost in the process.
  std::optional<OwnTime> Before(size_t group, size_t member, size_t seq) const;

 private:
  void AddProcess(size_t index);

  const Run& run_;
  const Matching& matching_;
  std::vector<std::vector<std::vector<OwnTime>>> until_;                // by group, member, sequence number
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> members_of_;  // by process: group, member
};

// Of call `seq` of a group, over the members that made it; nothing with fewer than two, or if a traced member did not.
std::optional<EntrySkew> SkewOf(const Run& run, const CommGroup& group, size_t seq, const Timeline& timeline);

// Own time of a process until each of some ascending times of its own clock. Linear in the calls.
std::vector<OwnTime> OwnUntil(const Process& process, const std::vector<int64_t>& times_ns);

// Does a call wait for other ranks, or may it? `pending_nccl`: work of NCCL is left on the device it would wait for.
bool MayWaitForPeers(const Call& call, bool pending_nccl);

}  // namespace ddbg::analyzer
