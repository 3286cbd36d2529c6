// Turns ring cells into the bytes of a protobuf Chunk (ddbg.proto). Used by the shim's sender thread and by the
// collector when it drains the region of a process that cannot send any more.
//
// Every function may be called by one thread at a time per region side, takes no lock, and never throws: out of memory
// leaves `chunk` as it was. Memory is allocated only to grow `chunk`; a caller that reuses it allocates nothing in the
// long run. Needs less than 64 KiB of stack.
#pragma once

#include <cstdint>
#include <string>

#include "proto/ring_layout.h"

namespace ddbg {

// Ticks to ns of the host's CLOCK_MONOTONIC: a line through one point.
struct TickMapper {
  uint64_t ticks = 0;
  int64_t ns = 0;
  double ns_per_tick = 1.0;

  // Any input is safe: what does not fit saturates.
  int64_t Ns(uint64_t at_ticks) const;
  uint64_t DurationNs(uint64_t duration_ticks) const;
};

// The mapper of a region. Uses the sender's calibration if there is a sane one, else the region's start and the two
// clocks as they stand now, so it must be called on the host of the process.
TickMapper MakeTickMapper(const RegionHeader& header) noexcept;

// No call to EncodeLane takes more cells than this, but for the rest of a definition that begins within them.
inline constexpr uint64_t kMaxBatchCells = 2048;

// Appends the records at positions [first, end) of a lane as a Packet{batch} and, if there are definitions among them,
// a Packet{definitions}; returns the position it got to (call again from there). Less than 4 MiB a call; usually far
// less. `end` is a value that LaneState::head had, read with acquire; first <= end <= first + capacity, else nothing is
// appended and `first` is returned. A definition is never separated from its payload. A definition that claims more
// payload than was published is damage: all that is left up to `end` is passed over and missing from the batch.
uint64_t EncodeLane(const Region& region, uint32_t slot, uint32_t lane, uint64_t first, uint64_t end,
                    const TickMapper& mapper, std::string* chunk) noexcept;

// A consistent copy of the call a thread is in.
struct OpenCallCopy {
  uint32_t tid;
  uint32_t request_count;
  uint64_t requests[kMaxOpenRequests];
  Record half[2];
};

// False if the thread is in no call, or entered or left one meanwhile.
bool ReadOpenCall(const Region& region, uint32_t slot, OpenCallCopy* copy) noexcept;

// Appends a Packet{open_call}. seen_ns: the host's CLOCK_MONOTONIC when it was looked at. False if out of memory.
bool AppendOpenCall(uint32_t slot, const OpenCallCopy& copy, const TickMapper& mapper, int64_t seen_ns,
                    std::string* chunk) noexcept;

// Both of the above in one: false, and nothing appended, if no call is open.
bool EncodeOpenCall(const Region& region, uint32_t slot, const TickMapper& mapper, int64_t seen_ns,
                    std::string* chunk) noexcept;

}  // namespace ddbg
