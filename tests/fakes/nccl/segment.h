// The shared memory of one communicator: a file in NULLNCCL_SHM_DIR (/dev/shm) named by the communicator's id, which
// exists only until all ranks have joined. All ranks are processes (or threads) of one machine.
//
// Ranks meet in steps: each rank writes what it brings, raises `posted` to the step's number (release), waits until all
// have (acquire), reads the others', raises `done`; nobody writes again before all are done with the step before.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string>

#include "tests/fakes/nccl/abi.h"

namespace nullnccl {

constexpr int kMaxRanks = 16;
constexpr size_t kSlotBytes = 1 << 20;
constexpr size_t kPipeBytes = 1 << 18;
constexpr size_t kSignalPipeBytes = 1 << 16;

// What a rank says about the operation it has come to; equal on all ranks of a right program.
struct Description {
  uint64_t bytes;  // of the stream of data that each rank puts in
  uint64_t count;
  int kind, type, op, root;
};

struct Lane {
  std::atomic<uint64_t> posted, done;
  Description description;  // of device operations
  int64_t values[2];        // of host operations: colour and key
};

// A stream of bytes from one rank to another; both counters only grow, and each has one writer.
template <size_t kBytes>
struct Pipe {
  std::atomic<uint64_t> written, read;
  char data[kBytes];

  // Moves as much as there is room for, or is there; returns how much.
  size_t Write(const void* from, size_t bytes);
  size_t Read(void* to, size_t bytes);  // null: throws it away
};

struct Segment {
  std::atomic<int> joined;
  std::atomic<int> ranks;   // of the first that joined
  std::atomic<int> broken;  // two said the same rank, or different numbers of ranks: nobody gets further
  std::atomic<int> pid[kMaxRanks];
  std::atomic<int> device[kMaxRanks];  // on the machine
  std::atomic<int> channels[kMaxRanks];
  Lane device_lane[kMaxRanks];
  Lane host_lane[kMaxRanks];
  std::atomic<uint64_t> grow_ids;  // how many have been written to grow_id
  UniqueId grow_id;
  Pipe<kPipeBytes> pipe[kMaxRanks][kMaxRanks];          // [from][to], for send and receive
  Pipe<kSignalPipeBytes> signal[kMaxRanks][kMaxRanks];  // [from][to], for one-sided operations
  char slot[kMaxRanks][kSlotBytes];
};

// Makes or opens the segment named `id`; null if the machine does not let us.
Segment* MapSegment(const std::string& id);
void UnmapSegment(Segment* segment);
// Takes the name away: nobody can join any more.
void UnlinkSegment(const std::string& id);

extern template struct Pipe<kPipeBytes>;
extern template struct Pipe<kSignalPipeBytes>;

}  // namespace nullnccl
