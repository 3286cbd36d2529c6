// Who waits for whom when the recording ends, or was ended by an abort: one node a process, for its program, one edge
// for each peer that must act before the call it is in can return. Behind these one node for each CUDA stream whose
// work cannot be done as things stand (replay.h): NCCL's calls return at once, and it is the stream that waits. Derived
// from open calls, unmatched messages and what the replay left; no time is needed for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

enum class WaitKind {
  kCollective,
  kSend,
  kReceive,
  kGroup,   // for members of a group that is made into a communicator
  kStream,  // for another stream, where something comes first
  kDevice,  // the program waits for a stream of its own
  kLock,    // of a window, which the peer holds
  kEpoch,   // of a window, which the peer has not begun or ended on its side
};

struct WaitEdge {
  size_t to = kNoIndex;  // node; kNoIndex: a rank that was not traced
  int32_t to_rank = -1;  // of MPI_COMM_WORLD
  WaitKind kind = WaitKind::kCollective;
  uint64_t comm_uid = 0;
  size_t seq = 0;           // collectives
  size_t call = kNoIndex;   // of the waiting process: the call that posted what it waits for
  bool not_begun = false;   // the peer made its call, but that came to nothing
  size_t lock = kNoIndex;   // kLock: the peer's call that took it
  const char* awaits = "";  // kEpoch: the function that the peer has not called
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
  size_t process = kNoIndex;
  size_t lane = kNoIndex;  // index into Replay::lanes; kNoIndex: the program itself
  Stand stand = Stand::kOwnCode;
  bool any_suffices = false;  // one edge is enough (MPI_Waitany, a receive from any source)
  bool met = false;           // peers have done their part of what it is in, or of some of it
  double seconds = 0;         // in this call, at the end of the recording
  std::vector<WaitEdge> edges;
  // A program in its own code that has given stuck work to a stream may be waiting for it by asking now and then.
  std::vector<WaitEdge> perhaps;

  bool is_stream() const { return lane != kNoIndex; }
};

// Where thousands wait for thousands, each waiting node has edges to the first of them only.
std::vector<WaitNode> BuildWaits(Context& context);

// Edges of one node at most, so that those of all nodes together fit into memory.
size_t MostEdges(const Context& context);

// "in cudaStreamSynchronize …", of a stream with what it holds: "…; stream 3 has ncclAllReduce(…) #5, not done".
std::string WhereIs(Context& context, const WaitNode& node);

}  // namespace ddbg::analyzer
