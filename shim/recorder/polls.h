// Polls of many handles in turn (streams, events, communicators that are not ready yet). Each handle's row of polls
// gives a record at counts 1, 2, 4, 8, … and one when it ends; a program that spins for an hour leaves 32 records.
// The rows belong to the thread; two handles may fall on one row, which then begins anew.
#pragma once

#include <bit>

#include "shim/recorder/recorder.h"

namespace ddbg::shim {

// One more poll of `key` (what is polled and what it said; not 0), which in_flight.half[0] holds, found nothing.
// Ends the call.
inline void CloseRepeatedPoll(ThreadState& t, LaneId lane, uint64_t key) noexcept {
  PollRow& row = t.memory->polls[key * 0x9e3779b97f4a7c15ull >> 59];
  Record& r = t.slot->in_flight.half[0];
  if (row.key != key) row = {key, r.start, 0};
  ++row.polls;
  if (std::has_single_bit(row.polls)) {
    r.duration = Now() - row.start;
    r.start = row.start;
    r.count = row.polls;
    r.flags |= kFlagNothingDone;
    Push(t, lane, r);
  }
  EndInFlight(t);
}

// The polled thing happened: the row of `key` is over. How often it had been polled in vain.
inline uint64_t EndRepeatedPoll(ThreadState& t, uint64_t key) noexcept {
  PollRow& row = t.memory->polls[key * 0x9e3779b97f4a7c15ull >> 59];
  if (row.key != key) return 0;
  row.key = 0;
  return row.polls;
}

}  // namespace ddbg::shim
