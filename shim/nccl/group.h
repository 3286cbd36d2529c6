// The group a thread has open: NCCL keeps it per thread as well. What is called inside begins, blocks and fails in the
// outermost ncclGroupEnd, and communicators are ready only after it.
#pragma once

#include <cstdint>

#include "shim/interpose/word.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::nccl {

inline constexpr uint32_t kMaxAwaited = 64;
inline constexpr uint32_t kMaxGroupStreams = 8;

struct Group {
  uint64_t token;  // of the recorder it belongs to
  uint32_t depth;
  uint32_t operations;
  uint64_t number;
  uint64_t first[kMaxOpenRequests];  // operation numbers
  // Communicators that begin here: NCCL gives their handles at once (ncclCommInitRankDev in init.cc).
  uint32_t awaited;
  Word handle[kMaxAwaited];
  // Streams that it enqueues on, the first few, and the last operation on each.
  uint32_t streams;
  uint64_t stream[kMaxGroupStreams];
  uint64_t last_operation[kMaxGroupStreams];
};

// Trivially destructible and initial-exec, as ThreadState.
extern thread_local Group g_group [[gnu::tls_model("initial-exec")]];

// The calling thread's; empty if it is of a parent process.
inline Group& OwnGroup(const ThreadState& t) noexcept {
  if (g_group.token != t.token) {
    g_group = {};
    g_group.token = t.token;
  }
  return g_group;
}

inline bool InGroup(const ThreadState& t) noexcept { return g_group.depth > 0 && g_group.token == t.token; }

inline void AddToGroup(Group& group, uint64_t operation) noexcept {
  if (group.operations < kMaxOpenRequests) group.first[group.operations] = operation;
  ++group.operations;
}

inline void AddStreamToGroup(Group& group, uint64_t stream, uint64_t operation) noexcept {
  uint32_t i = 0;
  while (i < group.streams && group.stream[i] != stream) ++i;
  if (i == kMaxGroupStreams) return;
  if (i == group.streams) group.stream[group.streams++] = stream;
  group.last_operation[i] = operation;
}

inline void Await(Group& group, Word handle) noexcept {
  if (group.awaited < kMaxAwaited) group.handle[group.awaited++] = handle;
}

uint64_t NextGroupNumber() noexcept;

}  // namespace ddbg::shim::nccl
