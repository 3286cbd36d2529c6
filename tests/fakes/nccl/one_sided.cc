// PutSignal, Signal and WaitSignal through a pipe of records for each pair of ranks. What is put is written by the rank
// that owns the window, when it waits for signals (or while it waits for room itself), and before it counts the signal.
#include <string.h>

#include <algorithm>

#include "tests/fakes/nccl/arithmetic.h"
#include "tests/fakes/nccl/incoming.h"
#include "tests/fakes/nccl/operation.h"
#include "tests/fakes/nccl/window.h"

namespace nullnccl {
namespace {

// Writes all of it, taking in what others put meanwhile: two ranks that put into each other do not wait for each other.
bool WriteAll(ncclComm& comm, int peer, const void* from, size_t bytes) {
  auto& pipe = comm.segment->signal[comm.rank][peer];
  size_t at = 0;
  return comm.WaitFor(
      [&] {
        while (size_t moved = pipe.Write(static_cast<const char*>(from) + at, bytes - at)) at += moved;
        if (at < bytes) TakeIn(comm);
        return at == bytes;
      },
      true, peer);
}

bool Put(ncclComm& comm, const Operation& operation) {
  PutRecord record{operation.window, operation.offset, operation.count * SizeOf(operation.type)};
  return WriteAll(comm, operation.peer, &record, sizeof(record)) &&
         WriteAll(comm, operation.peer, operation.send, record.bytes);
}

bool Wait(ncclComm& comm, const Operation& operation) {
  Incoming& incoming = comm.incoming[operation.peer];
  bool met = comm.WaitFor(
      [&] {
        TakeIn(comm);
        return incoming.signals >= operation.count;
      },
      true, operation.peer);
  if (met) incoming.signals -= operation.count;
  return met;
}

// Takes in of one peer as much as is there.
void TakeFrom(ncclComm& comm, int peer) {
  Incoming& incoming = comm.incoming[peer];
  auto& pipe = comm.segment->signal[peer][comm.rank];
  for (;;) {
    size_t moved;
    if (incoming.at < sizeof(PutRecord)) {
      moved = pipe.Read(reinterpret_cast<char*>(&incoming.record) + incoming.at, sizeof(PutRecord) - incoming.at);
    } else {
      size_t data = incoming.at - sizeof(PutRecord);
      moved =
          pipe.Read(comm.WindowAt(incoming.record.window, incoming.record.offset + data), incoming.record.bytes - data);
    }
    incoming.at += moved;
    if (incoming.at >= sizeof(PutRecord) && incoming.at == sizeof(PutRecord) + incoming.record.bytes) {
      ++incoming.signals;
      incoming.at = 0;
    } else if (!moved) {
      return;
    }
  }
}

}  // namespace

void TakeIn(ncclComm& comm) {
  for (int peer = 0; peer < comm.ranks; ++peer) TakeFrom(comm, peer);
}

bool RunOneSided(ncclComm& comm, const Operation& operation) {
  return operation.kind == Kind::kWaitSignal ? Wait(comm, operation) : Put(comm, operation);
}

}  // namespace nullnccl
