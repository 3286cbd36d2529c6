// One communication operation of one rank, as its stream's thread runs it.
#pragma once

#include <stddef.h>

#include <optional>
#include <vector>

#include "tests/fakes/nccl/comm.h"

namespace nullnccl {

// AlltoAll, Gather and Scatter are made of sends and receives, as in real NCCL.
enum class Kind {
  kBroadcast,
  kReduce,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kSend,
  kRecv,
  kPutSignal,
  kSignal,
  kWaitSignal
};

struct Operation {
  Kind kind;
  const void* send = nullptr;
  void* recv = nullptr;
  size_t count = 0;
  int type = kInt8;
  int op = kSum;
  int peer = 0;  // or root
  std::optional<CustomOp> custom = {};
  int window = 0;  // one-sided: the peer's window, by its number, and where in it
  size_t offset = 0;
};

inline bool IsCollective(Kind kind) { return kind < Kind::kSend; }
inline bool IsPointToPoint(Kind kind) { return kind == Kind::kSend || kind == Kind::kRecv; }

// Each runs to the end, on one thread a communicator, and returns false if it was aborted.
bool RunCollective(ncclComm& comm, const Operation& operation);
// All at once, so that sends and receives of one group do not wait for each other.
bool RunPointToPoint(ncclComm& comm, const std::vector<Operation>& operations);
bool RunOneSided(ncclComm& comm, const Operation& operation);

}  // namespace nullnccl
