// The thread that looks for what devices have done, and the pool of events it shares with the threads that enqueue. For
// completion.cc.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/interpose/library_copies.h"

namespace ddbg::shim::cuda {

inline constexpr uint32_t kMaxTimed = 512;
inline constexpr int32_t kNoDevice = -1;

// An entry goes from hand to hand: kFree → kTaken by a thread that enqueues → kEnqueued, the poller's → kFree. Each
// step is a release that the next one's acquire pairs with. Events are made once and stay.
struct TimedOperation {
  enum State : uint32_t { kFree, kTaken, kEnqueued };
  std::atomic<uint32_t> state;
  int32_t device;     // of the events; kNoDevice: there are none yet
  LibraryCopy* copy;  // that made them
  uint64_t begin, end, untimed;
  uint64_t operation;
  uint64_t stream;
  uint64_t enqueued;  // ticks: before the first of its events was recorded
  bool is_timed;      // by begin and end; else `untimed` alone
};

TimedOperation& TimedAt(uint32_t index) noexcept;

// Once a recorder. False: the system gives no thread.
bool StartCompletionPoller() noexcept;

}  // namespace ddbg::shim::cuda
