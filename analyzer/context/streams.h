// What one process put on its CUDA streams for NCCL to do, in order, and how much of it is proven to be done.
//
//   stream 3   ncclAllReduce | wait for stream 1 up to 2 | group of ncclSend, ncclRecv | …
//              ^ below `finished`: a synchronisation, a query or a completion record came later and says so
//
// A stream carries out one item after the other; a group is one item on each of its streams. Kernels and copies are
// left out: they end by themselves. Events order streams: what follows cudaStreamWaitEvent waits for what was before
// the event's record. Nothing is proven by the mere return of an NCCL call, which only puts work on the stream.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct StreamItem {
  bool waits = false;  // for `position` items of `lane`, a lane of the same process; else work
  uint32_t lane = 0, position = 0;
  uint32_t first = 0, count = 0;  // work: range of StreamLane::calls
  size_t launcher = kNoIndex;     // work: the call that begins it: the operation itself, or its group's end
};

struct StreamLane {
  int32_t stream = 0;
  std::vector<StreamItem> items;
  std::vector<size_t> calls;  // operations, indexes into Process::calls
  uint32_t finished = 0;      // items below are proven to be done
  // The program asks and asks for what these items lead to: the last row of polls that found it not done. 0 0: none.
  int64_t polled_from_ns = 0, polled_until_ns = 0;
  uint32_t polled_position = 0;
};

struct ProcessStreams {
  std::vector<StreamLane> lanes;
  std::unordered_map<int32_t, uint32_t> by_stream;  // stream id, or minus communicator id where it is unknown → lane
  std::unordered_set<size_t> never_begun;   // operations of groups that have not ended, failed or were simulated
  std::unordered_set<uint32_t> gone_comms;  // finalized, destroyed or aborted: nothing of theirs is left to do
  struct Awaited {
    uint32_t lane, position;
  };
  std::unordered_map<size_t, Awaited> awaited;  // by open cudaEventSynchronize: what must be done for its event
  uint64_t graph_launches = 0;

  // Of an operation; kNoIndex if there is none.
  size_t LaneOf(const Call& call) const;
};

// Calls that begin at `until_ns` or later are not looked at, and what ends later proves nothing.
ProcessStreams ReadStreams(const Process& process, int64_t until_ns);

// NCCL drops a collective of no elements on the rank that calls it so.
bool IsDropped(const Call& call);

}  // namespace ddbg::analyzer
