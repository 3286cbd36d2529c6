// A double of NCCL that does nothing but speak to its profiler plugin, in the order and with the fields of NCCL's
// sources (src/plugin/profiler.cc, plugin_open.cc of 2.26.2, 2.28 and 2.29): one rank, one device whose clock is its
// own, a proxy thread.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
struct ncclUniqueId {
  char internal[128];
};
struct ncclComm;
using ncclComm_t = ncclComm*;
int ncclGetVersion(int* version);
int ncclGetUniqueId(ncclUniqueId* id);
int ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
int ncclCommDestroy(ncclComm_t comm);
int ncclCommCount(ncclComm_t comm, int* count);
int ncclCommUserRank(ncclComm_t comm, int* rank);
int ncclCommCuDevice(ncclComm_t comm, int* device);
int ncclAllReduce(const void* send, void* recv, size_t count, int type, int op, ncclComm_t comm, void* stream);
int ncclSend(const void* buff, size_t count, int type, int peer, ncclComm_t comm, void* stream);
int ncclRecv(void* buff, size_t count, int type, int peer, ncclComm_t comm, void* stream);
int ncclGroupStart();
int ncclGroupEnd();

// The test's own ways in. Not NCCL's.
void DoubleLaunchGraph(ncclComm_t comm,
                       int times);        // what was enqueued last, as a captured operation, on another thread
void DoubleStrayEvents(ncclComm_t comm);  // what a plugin should survive: null and old handles, wrong order
void DoubleLeaveOpen(int leave);          // events are started and not stopped
}
