// Packets on their way to the trace file: a Chunk that grows until it is written as one frame.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace ddbg::collector {

struct PendingChunk {
  std::string bytes;
  int64_t t_min = 0;  // ns CLOCK_MONOTONIC; both 0 while there is no time in it
  int64_t t_max = 0;
  uint64_t records = 0;

  void Cover(int64_t from, int64_t to) {
    if (from > to) return;  // only a client that lies has that
    bool first = t_min == 0 && t_max == 0;
    t_min = first ? from : std::min(t_min, from);
    t_max = first ? to : std::max(t_max, to);
  }

  void Clear() {
    constexpr size_t kKeep = 1 << 20;
    if (bytes.capacity() > kKeep) std::string().swap(bytes);
    bytes.clear();
    t_min = t_max = 0;
    records = 0;
  }
};

}  // namespace ddbg::collector
