// A communicator of the double: its place in a segment, its state, and how it waits for its peers.
#pragma once

#include <stdint.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fakes/nccl/abi.h"
#include "tests/fakes/nccl/incoming.h"
#include "tests/fakes/nccl/segment.h"
#include "tests/fakes/nccl/window.h"

namespace nullnccl {

// What a communicator has in common with those split from it: the rank by which faults name it.
struct Lineage {
  int rank = 0;
  std::atomic<int> collectives{0};  // whose work has begun on this rank
};

struct CustomOp {
  int type;
  const void* device_scalar;  // null: `value` was read when the op was made
  char value[8];
};

}  // namespace nullnccl

// What clients hold; alive as long as something of it is queued or captured, known as a handle until Destroy or Abort.
struct ncclComm : std::enable_shared_from_this<ncclComm> {
  ~ncclComm();

  // Waits until `met`; false if the communicator is aborted (or, for device work, stopped) before. `peer` is whom it
  // waits for, -1 for all: if that process is dead, the state can become a remote error.
  bool WaitFor(const std::function<bool()>& met, bool device_work, int peer = -1);
  // One step of a meeting, after this rank has written to its lane.
  bool Meet(nullnccl::Lane* lanes, uint64_t step, bool device_work, const std::function<void()>& write,
            const std::function<void()>& read);
  // What a broken operation does: nothing, until abort.
  void Hang() {
    WaitFor([] { return false; }, true);
  }

  // A place in the n-th window; null if it was deregistered.
  void* WindowAt(int64_t number, size_t offset);

  std::string id;
  int rank = 0;
  int ranks = 0;
  int device = 0;
  bool blocking = true;
  std::shared_ptr<nullnccl::Lineage> lineage;
  nullnccl::Segment* segment = nullptr;
  bool channels_agree = true;

  std::atomic<int> state{nullnccl::kSuccess};  // what ncclCommGetAsyncError says
  std::atomic<bool> aborted{false};
  std::atomic<bool> stopped{false};  // device work ends, host work goes on: revoked, or shrunk with abort
  std::atomic<bool> revoked{false};

  // Device work of a communicator is done in the order of its tickets, one after the other, whatever the stream.
  std::atomic<uint64_t> tickets{0};
  std::atomic<uint64_t> turn{0};
  std::atomic<int> outstanding{0};  // enqueued and not ended
  std::atomic<int> running{0};      // begun and not ended
  std::atomic<int> in_graphs{0};    // captured in graphs that still exist

  // Of device work, whose steps have one thread at a time.
  uint64_t device_step = 0;
  bool mismatched = false;  // a mismatch of sizes came to an end

  // Of host work: numbers drawn by the calling thread.
  uint64_t host_step = 0;
  uint64_t splits = 0;
  uint64_t shrinks = 0;
  uint64_t grows = 0;

  std::mutex mutex;  // of the maps below
  std::map<int, nullnccl::CustomOp> custom_ops;
  int next_custom_op = nullnccl::kFirstCustomOp;
  std::vector<std::unique_ptr<ncclWindow_vidmem>> windows;

  nullnccl::Incoming incoming[nullnccl::kMaxRanks];  // of device work
};

namespace nullnccl {

using Comm = std::shared_ptr<ncclComm>;

// Makes a communicator known by its handle; Forget() ends that, and the memory goes when the last work has ended.
Comm MakeComm();
Comm FindComm(ncclComm* handle);  // null: no such communicator
void Forget(ncclComm* handle);

// Keeps a message for ncclGetLastError and returns the result.
Result Fail(Result result, const std::string& message);
const char* LastMessage();

// As real NCCL at the entry of each call: the handle is good, no other operation of a non-blocking communicator is on
// its way, and it is not revoked (unless `revoked_is_fine`).
Result EnsureReady(ncclComm* handle, Comm* comm, bool revoked_is_fine = false);

// Waits until nothing of the communicator is queued or captured in a graph.
void Drain(ncclComm& comm);
// Ends device work that has begun and waits for that; what is queued ends as soon as it begins.
void StopDeviceWork(ncclComm& comm);

void Pause(int* spins);

}  // namespace nullnccl
