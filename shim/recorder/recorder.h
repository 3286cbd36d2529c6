// The recorder: what a wrapper calls around the real function. Knows nothing of MPI, NCCL or CUDA.
//
//   Word MPI_Send(…) {
//     ThreadState* t = Enter(__builtin_frame_address(0));      // nullptr: pass through (off, nested, no room)
//     if (!t) return real(…);
//     Record& r = t->slot->in_flight.half[0];                  // shared memory: fill it in place
//     r.call = …; r.comm = …;
//     OpenCall(*t, 1);                                         // now the call is visible as in flight
//     Word result = real(…);                                   // may longjmp, throw, or never return
//     r.result = …;
//     CloseCall(*t, lane);                                     // one record into the ring
//     Leave(*t);
//   }
//
// Nothing here locks, allocates or makes a system call once a thread is known; the first call of a process or thread
// takes the slow path. All functions are for the calling thread's own state.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "proto/clock_ticks.h"
#include "proto/ring_layout.h"
#include "shim/recorder/settings.h"

namespace ddbg::shim {

struct LaneWriter {
  LaneState* state;
  Record* cells;
  uint64_t mask;
  uint64_t head;        // own copy of state->head
  uint64_t written;     // last seen state->written
  uint64_t lost;        // records dropped since the last Lost record
  uint64_t lost_first;  // ticks of the first and last of them
  uint64_t lost_last;
};

// A failed Test* or Iprobe, repeated: one record for the whole row of polls.
struct PollRun {
  Record record;        // count = polls, duration = last − first
  uint64_t key;         // what was polled; 0: no run
  uint64_t next_write;  // count at which a snapshot goes into the ring
};

class StackMemo;
struct PythonReading;

// One of many handles that are polled in turn (polls.h).
struct PollRow {
  uint64_t key, start, polls;
};
inline constexpr uint32_t kPollRows = 32;

// What a thread needs outside the region. It belongs to the slot, so that the next thread there finds it.
struct SlotMemory {
  void* scratch;  // grown by Scratch()
  uint64_t scratch_bytes;
  StackMemo* memo;        // made by CaptureStack
  PythonReading* python;  // and this, in a process that has a Python
  PollRow polls[kPollRows];
};

// Where a thread's stack lies. All zero: not looked up.
struct StackBounds {
  uintptr_t low, end;
};

// Trivially destructible and initial-exec: usable before constructors, after destructors and in dying threads.
struct ThreadState {
  uint64_t token;    // equals *g_live while this state belongs to the process's recorder
  uintptr_t guard;   // frame address of the outermost wrapper; 0: none
  ThreadSlot* slot;  // nullptr: no slot was free, calls pass through
  LaneWriter lane[kLanes];
  PollRun poll;
  SlotMemory* memory;
  StackBounds stack;  // where stacks are walked by frame pointers
};

extern thread_local ThreadState g_thread [[gnu::tls_model("initial-exec")]];
// One word that is the recorder's generation in the process that made it and 0 in a forked child (MADV_WIPEONFORK).
extern std::atomic<const volatile uint64_t*> g_live;
extern std::atomic<bool> g_off;

// First call of this thread or process, or after a fork. nullptr: pass through.
ThreadState* EnterSlow(uintptr_t frame) noexcept;

// The guard: only the outermost call counts. The stack grows down, so a guard at or below this frame was left behind
// by a longjmp or an exception and is stale (mpi.md 1.2).
[[gnu::always_inline]] inline ThreadState* Enter(void* frame_address) noexcept {
  uintptr_t frame = reinterpret_cast<uintptr_t>(frame_address);
  ThreadState& t = g_thread;
  // acquire: pairs with the release of the thread that made the page
  if (t.token != *g_live.load(std::memory_order_acquire)) [[unlikely]]
    return EnterSlow(frame);
  if (frame < t.guard) return nullptr;
  if (!t.slot) [[unlikely]]
    return EnterSlow(frame);
  t.guard = frame;
  return &t;
}

// For what a library does by itself inside a recorded call, where that is of interest: the thread, if it is inside one.
// in_flight holds the outer call; a nested record is pushed as a whole when it is over.
[[gnu::always_inline]] inline ThreadState* Inside(void* frame_address) noexcept {
  ThreadState& t = g_thread;
  if (t.token != *g_live.load(std::memory_order_acquire) || !t.slot) return nullptr;
  return reinterpret_cast<uintptr_t>(frame_address) < t.guard ? &t : nullptr;
}

[[gnu::always_inline]] inline void Leave(ThreadState& t) noexcept { t.guard = 0; }

extern ClockKind g_clock;  // set before the first Enter succeeds

[[gnu::always_inline]] inline uint64_t Now() noexcept { return ReadTicks(g_clock); }

// Drops one record of `lane`, to be told by a Lost record as soon as there is room.
void CountLost(ThreadState& t, LaneId lane, uint64_t ticks) noexcept;
// Room for `cells` more? Looks at the collector's progress if the own copy says no.
bool HasRoomSlow(LaneWriter& lane, uint64_t cells) noexcept;

[[gnu::always_inline]] inline bool HasRoom(LaneWriter& lane, uint64_t cells) noexcept {
  return lane.head - lane.written + cells <= lane.mask + 1 || HasRoomSlow(lane, cells);
}

void WriteLost(ThreadState& t, LaneId lane) noexcept;

[[gnu::always_inline]] inline bool Push(ThreadState& t, LaneId id, const Record& record) noexcept {
  LaneWriter& lane = t.lane[id];
  if (lane.lost) [[unlikely]]
    WriteLost(t, id);
  if (!HasRoom(lane, 1)) [[unlikely]] {
    CountLost(t, id, record.start);
    return false;
  }
  lane.cells[lane.head & lane.mask] = record;
  ++lane.head;
  lane.state->head.store(lane.head, std::memory_order_release);  // pairs with the sender's and collector's acquire
  return true;
}

// A protobuf `Definition` into the vital lane. False: no room now; the caller tries again at the next use.
bool PushDefinition(ThreadState& t, std::string_view bytes) noexcept;

// Publishes in_flight.half[0] (and half[1] if `halves` is 2) as the call this thread is in, starting now.
[[gnu::always_inline]] inline void OpenCall(ThreadState& t, int halves) noexcept {
  InFlight& f = t.slot->in_flight;
  if (halves == 1) f.half[1].call = 0;
  uint64_t now = Now();
  f.half[0].start = now;
  if (halves == 2) f.half[1].start = now;
  // Odd: open. The release pairs with the acquire in the collector's seqlock read.
  f.sequence.store(f.sequence.load(std::memory_order_relaxed) | 1, std::memory_order_release);
}

// Marks the call as over without a record of its own (the caller pushed what there is to say).
[[gnu::always_inline]] inline void EndInFlight(ThreadState& t) noexcept {
  InFlight& f = t.slot->in_flight;
  f.sequence.store((f.sequence.load(std::memory_order_relaxed) | 1) + 1, std::memory_order_release);
  // The next call's fields must not become visible before this store: a seqlock writer's fence.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// A poll that found nothing (in_flight.half[0] holds it). A row of polls with one `key` (what was polled) gives a
// record at counts 1, 2, 4, 8, … and at its end; they share their start, and the last one written says it all.
void ClosePoll(ThreadState& t, LaneId lane, uint64_t key) noexcept;
// Ends a row of polls.
void FlushPoll(ThreadState& t, LaneId lane) noexcept;

// Ends the call: its record, or both halves, into the ring. A kill between the two stores leaves the call both in
// the ring and in flight; the collector tells by the equal start.
[[gnu::always_inline]] inline void CloseCall(ThreadState& t, LaneId lane) noexcept {
  InFlight& f = t.slot->in_flight;
  uint64_t duration = Now() - f.half[0].start;
  f.half[0].duration = duration;
  if (t.poll.key) [[unlikely]]
    FlushPoll(t, kBulkLane);
  Push(t, lane, f.half[0]);
  if (f.half[1].call) {
    f.half[1].duration = duration;
    Push(t, lane, f.half[1]);
    f.half[1].call = 0;
  }
  EndInFlight(t);
}

// Memory for one call's arrays, kept by the thread. nullptr if the system has none.
void* Scratch(ThreadState& t, uint64_t bytes) noexcept;

// The process said goodbye in a way that exit status alone does not tell.
void NoteAbort() noexcept;

const Settings& CurrentSettings() noexcept;

// Of the clock of records, and its reading when the recorder was made. `ns_per_tick` 0: not measured yet (50 ms).
struct RecordClock {
  uint64_t start;
  double ns_per_tick;
};
RecordClock CurrentClock() noexcept;

}  // namespace ddbg::shim
