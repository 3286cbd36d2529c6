// Who a made-up rank is, and what its ids mean: what a real process tells once.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/ddbg.pb.h"
#include "tests/synthetic/layout.h"

namespace ddbg::synthetic {

// Call sites; the id of the stack is one more.
enum Site {
  kAtInit,
  kAtForward,
  kAtSendActivation,
  kAtRecvActivation,
  kAtBackward,
  kAtSendGradient,
  kAtRecvGradient,
  kAtBucket,
  kAtNorm,
  kAtSync,
  kAtCheckpoint,
  kAtExit,
  kSites
};

enum Stream { kComputeStream = 1, kDataStream = 2 };
inline constexpr uint32_t kType = 1;  // of all data: float

proto::Process IdentityOf(const Options& options, const Layout& layout, int rank);
proto::Packet ModulesOf(const Options& options, int rank);
// Of communicator `comm` in the id comm + 1.
proto::Definition CommunicatorOf(const Options& options, const Layout& layout, int rank, Comm comm);
// Everything but the communicators.
std::vector<proto::Definition> DefinitionsOf(const Options& options, const Layout& layout, int rank);

}  // namespace ddbg::synthetic
