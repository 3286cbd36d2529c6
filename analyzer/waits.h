// Who waits for whom when the recording ends: one node a process, one edge for each peer that must act before the call
// it is in can return. Derived from open calls and unmatched messages; no time is needed for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/context.h"

namespace ddbg::analyzer {

enum class WaitKind { kCollective, kSend, kReceive };

struct WaitEdge {
  size_t to = kNoIndex;  // process; kNoIndex: a rank that was not traced
  int32_t to_rank = -1;  // of MPI_COMM_WORLD
  WaitKind kind = WaitKind::kCollective;
  uint64_t comm_uid = 0;
  size_t seq = 0;          // collectives
  size_t call = kNoIndex;  // of the waiting process: the call that posted what it waits for
};

enum class Stand {
  kWaiting,   // in a call that cannot return before a peer acts
  kInside,    // in a call that needs nothing more from a peer: the library's own progress
  kOwnCode,   // in no call
  kFinalize,  // in or past MPI_Finalize: makes no call any more
  kEnded,     // exited or killed by its own doing
  kStarting,  // in MPI_Init
};

struct WaitNode {
  Stand stand = Stand::kOwnCode;
  bool any_suffices = false;  // one edge is enough (MPI_Waitany, a receive from any source)
  double seconds = 0;         // in this call, at the end of the recording
  std::vector<WaitEdge> edges;
};

std::vector<WaitNode> BuildWaits(Context& context);

}  // namespace ddbg::analyzer
