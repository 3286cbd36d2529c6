// What the region of a process tells of it when the process itself cannot any more. Reads only; safe on any content.
#pragma once

#include <cstdint>
#include <string>

#include "collector/packets.h"
#include "proto/batch_encoder.h"
#include "proto/ring_layout.h"

namespace ddbg::collector {

// How far each lane of a region has been taken, in cells.
struct LanePositions {
  uint64_t at[kMaxThreads][kLanes] = {};
};

// True if the call a thread of a dead process seems to be in has a record in the thread's rings: the process died after
// the record was published and before the in-flight slot was cleared.
bool HadReturned(const Region& region, uint32_t slot, const OpenCallCopy& call);

// Appends an OpenCall packet for each call that had not returned. For processes that have ended.
void AppendCallsInFlight(const Region& region, const TickMapper& mapper, int64_t seen_ns, std::string* chunk);

// Lost records by cause, over all threads.
LostCounts SumLost(const Region& region);

// The exit record that the shim leaves when exit() runs; kGone without one.
ProcessEnding EndingFromExitRecord(const Region& region);

}  // namespace ddbg::collector
