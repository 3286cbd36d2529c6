// Calls every function of NCCL's table: nccl_calls RANKS LOG; with REFUSED set also some with wrong numbers. Each rank
// writes one JSON line a call to LOG.<rank>, saying what it passed; test_nccl.py compares them with the trace.
#include <string.h>

#include <cstdarg>

#include "ranks.h"

namespace {

FILE* g_log;

// One call: its name, then what else is to be found of it.
void Log(const char* call, const char* format = "", ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(g_log, "{\"call\": \"%s\"", call);
  vfprintf(g_log, format, arguments);
  va_end(arguments);
  fputs("}\n", g_log);
}

int Check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return 0;
  fprintf(stderr, "%s gave %d\n", what, result);
  fflush(g_log);
  _exit(70);
}
#define CALL(name, arguments, ...)         \
  do {                                     \
    Log(#name __VA_OPT__(, ) __VA_ARGS__); \
    Check(name arguments, #name);          \
  } while (0)

struct Buffers {
  void *send, *recv;
  cudaStream_t stream;
};

constexpr size_t kBytes = 1 << 20;

void Collectives(const Buffers& b, ncclComm_t comm, int ranks) {
  CALL(ncclAllReduce, (b.send, b.recv, 100, ncclFloat32, ncclSum, comm, b.stream),
       ", \"count\": 100, \"dtype\": \"ncclFloat32\", \"op\": \"ncclSum\"");
  CALL(ncclAllReduce, (b.recv, b.recv, 7, ncclFloat64, ncclMax, comm, b.stream),
       ", \"count\": 7, \"dtype\": \"ncclFloat64\", \"op\": \"ncclMax\", \"in_place\": true");
  CALL(ncclReduce, (b.send, b.recv, 33, ncclInt32, ncclMin, ranks - 1, comm, b.stream),
       ", \"count\": 33, \"dtype\": \"ncclInt32\", \"op\": \"ncclMin\", \"root\": %d", ranks - 1);
  CALL(ncclBroadcast, (b.send, b.recv, 12, ncclUint8, 1, comm, b.stream),
       ", \"count\": 12, \"dtype\": \"ncclUint8\", \"root\": 1");
  CALL(ncclBcast, (b.recv, 13, ncclBfloat16, 0, comm, b.stream),
       ", \"count\": 13, \"dtype\": \"ncclBfloat16\", \"root\": 0");
  CALL(ncclReduceScatter, (b.send, b.recv, 16, ncclFloat32, ncclAvg, comm, b.stream),
       ", \"count\": 16, \"dtype\": \"ncclFloat32\", \"op\": \"ncclAvg\"");
  CALL(ncclAllGather, (b.send, b.recv, 17, ncclInt64, comm, b.stream), ", \"count\": 17, \"dtype\": \"ncclInt64\"");
  CALL(ncclAlltoAll, (b.send, b.recv, 18, ncclFloat16, comm, b.stream), ", \"count\": 18, \"dtype\": \"ncclFloat16\"");
  CALL(ncclGather, (b.send, b.recv, 19, ncclInt8, 0, comm, b.stream),
       ", \"count\": 19, \"dtype\": \"ncclInt8\", \"root\": 0");
  CALL(ncclScatter, (b.send, b.recv, 20, ncclUint32, 1, comm, b.stream),
       ", \"count\": 20, \"dtype\": \"ncclUint32\", \"root\": 1");
  CALL(ncclAllReduce, (b.send, b.recv, 0, ncclUint64, ncclProd, comm, b.stream),
       ", \"count\": 0, \"dtype\": \"ncclUint64\", \"op\": \"ncclProd\"");
}

void OwnOperator(const Buffers& b, ncclComm_t comm) {
  float scalar = 0.5f;
  ncclRedOp_t op;
  CALL(ncclRedOpCreatePreMulSum, (&op, &scalar, ncclFloat32, ncclScalarHostImmediate, comm),
       ", \"dtype\": \"ncclFloat32\"");
  CALL(ncclAllReduce, (b.send, b.recv, 5, ncclFloat32, op, comm, b.stream),
       ", \"count\": 5, \"dtype\": \"ncclFloat32\", \"op\": \"premulsum\"");
  CALL(ncclRedOpDestroy, (op, comm));
}

void Ring(const Buffers& b, ncclComm_t comm, int rank, int ranks) {
  int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  CALL(ncclGroupStart, ());
  CALL(ncclSend, (b.send, 40, ncclFloat32, next, comm, b.stream),
       ", \"count\": 40, \"dtype\": \"ncclFloat32\", \"peer\": %d, \"grouped\": true", next);
  CALL(ncclGroupStart, ());
  CALL(ncclRecv, (b.recv, 40, ncclFloat32, last, comm, b.stream),
       ", \"count\": 40, \"dtype\": \"ncclFloat32\", \"peer\": %d, \"grouped\": true", last);
  CALL(ncclAllReduce, (b.send, b.recv, 41, ncclFloat32, ncclSum, comm, b.stream),
       ", \"count\": 41, \"dtype\": \"ncclFloat32\", \"op\": \"ncclSum\", \"grouped\": true");
  CALL(ncclGroupEnd, ());
  CALL(ncclGroupEnd, (), ", \"operations\": 3");
}

void Memory(const Buffers& b, ncclComm_t comm) {
  void *memory, *registered;
  ncclWindow_t window;
  CALL(ncclMemAlloc, (&memory, 8192), ", \"bytes\": 8192");
  CALL(ncclCommRegister, (comm, b.send, kBytes, &registered), ", \"bytes\": %zu", kBytes);
  CALL(ncclCommDeregister, (comm, registered));
  CALL(ncclCommWindowRegister, (comm, memory, 8192, &window, 1), ", \"bytes\": 8192");
  CALL(ncclCommWindowDeregister, (comm, window));
  CALL(ncclMemFree, (memory));
}

void AwaitReady(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    if (ncclCommGetAsyncError(comm, &state)) _exit(71);
    Ranks::Pause();
  }
  if (state != ncclSuccess) _exit(72);
}

void End(ncclComm_t comm) {
  CALL(ncclCommFinalize, (comm));
  CALL(ncclCommDestroy, (comm));
}

void Children(const Buffers& b, ncclComm_t world, int rank, int ranks) {
  ncclComm_t child = nullptr, none = nullptr;
  CALL(ncclCommSplit, (world, rank % 2, -rank, &child, nullptr), ", \"color\": %d", rank % 2);
  CALL(ncclAllReduce, (b.send, b.recv, 50, ncclFloat32, ncclSum, child, b.stream),
       ", \"count\": 50, \"dtype\": \"ncclFloat32\", \"op\": \"ncclSum\"");
  CALL(ncclCommSplit, (world, -1, 0, &none, nullptr), ", \"color\": -1");
  int last = ranks - 1;
  ncclComm_t smaller = nullptr;
  if (ranks > 2 && rank != last) {
    CALL(ncclCommShrink, (world, &last, 1, &smaller, nullptr, 0));
    CALL(ncclAllReduce, (b.send, b.recv, 51, ncclFloat32, ncclSum, smaller, b.stream),
         ", \"count\": 51, \"dtype\": \"ncclFloat32\", \"op\": \"ncclSum\"");
  }
  cudaStreamSynchronize(b.stream);
  End(child);
  if (smaller) End(smaller);
}

// A communicator whose calls do not wait.
void NonBlocking(const Buffers& b, const ncclUniqueId& id, int rank, int ranks) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = "later";
  ncclComm_t comm = nullptr;
  Log("ncclCommInitRankConfig", ", \"ranks\": %d", ranks);
  ncclResult_t result = ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
  if (result != ncclInProgress && result != ncclSuccess) _exit(73);
  AwaitReady(comm);
  Log("ncclAllReduce", ", \"count\": 60, \"dtype\": \"ncclFloat32\", \"op\": \"ncclSum\", \"comm\": \"later\"");
  result = ncclAllReduce(b.send, b.recv, 60, ncclFloat32, ncclSum, comm, b.stream);
  if (result != ncclInProgress && result != ncclSuccess) _exit(74);
  AwaitReady(comm);
  cudaStreamSynchronize(b.stream);
  CALL(ncclCommAbort, (comm));
  CALL(ncclCommAbort, (nullptr));
}

// Each rank writes into the window of the next one and waits for the last one.
void OneSided(const Buffers& b, ncclComm_t comm, int rank, int ranks) {
  int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  void* memory;
  ncclWindow_t window;
  ncclWaitSignalDesc_t two = {2, last, 0, 0};
  CALL(ncclMemAlloc, (&memory, 4096), ", \"bytes\": 4096");
  CALL(ncclCommWindowRegister, (comm, memory, 4096, &window, 1), ", \"bytes\": 4096");
  CALL(ncclPutSignal, (b.send, 70, ncclFloat32, next, window, 0, 0, 0, 0, comm, b.stream),
       ", \"count\": 70, \"dtype\": \"ncclFloat32\", \"peer\": %d", next);
  CALL(ncclSignal, (next, 0, 0, 0, comm, b.stream), ", \"peer\": %d", next);
  CALL(ncclWaitSignal, (1, &two, comm, b.stream));
  cudaStreamSynchronize(b.stream);
  CALL(ncclCommWindowDeregister, (comm, window));
  CALL(ncclMemFree, (memory));
}

// All but the last rank make a communicator, which the last one joins.
void Growth(Ranks& job, const Buffers& b, ncclComm_t world, int rank, int ranks) {
  bool joins = rank == ranks - 1;
  ncclComm_t few = nullptr, all = nullptr;
  ncclUniqueId id = {};
  CALL(ncclCommSplit, (world, joins ? -1 : 0, rank, &few, nullptr), ", \"color\": %d", joins ? -1 : 0);
  if (rank == 0) CALL(ncclCommGetUniqueId, (few, &id));
  id = job.Share(10, rank == 0, id);
  CALL(ncclCommGrow, (few, ranks, rank == 0 || joins ? &id : nullptr, joins ? rank : -1, &all, nullptr),
       ", \"ranks\": %d", ranks);
  CALL(ncclAllReduce, (b.send, b.recv, 80, ncclFloat32, ncclSum, all, b.stream),
       ", \"count\": 80, \"dtype\": \"ncclFloat32\", \"op\": \"ncclSum\"");
  cudaStreamSynchronize(b.stream);
  End(all);
  if (few) End(few);
}

void Rest(const Buffers& b, ncclComm_t world, int rank) {
  int device_comm[256] = {};
  ncclSimInfo_t info = {sizeof(info), 0x74685283, 22809, 0};
  ncclComm_t revoked = nullptr;
  CALL(ncclCommSuspend, (world, 0));
  CALL(ncclCommResume, (world));
  CALL(ncclDevCommCreate, (world, nullptr, device_comm));
  CALL(ncclDevCommDestroy, (world, device_comm));
  CALL(ncclGroupStart, ());
  CALL(ncclGroupSimulateEnd, (&info), ", \"operations\": 0");
  CALL(ncclCommSplit, (world, 0, rank, &revoked, nullptr), ", \"color\": 0");
  CALL(ncclAllReduce, (b.send, b.recv, 90, ncclFloat32, ncclSum, revoked, b.stream),
       ", \"count\": 90, \"dtype\": \"ncclFloat32\", \"op\": \"ncclSum\"");
  cudaStreamSynchronize(b.stream);
  CALL(ncclCommRevoke, (revoked, 0));
  CALL(ncclCommDestroy, (revoked));
}

// Numbers that NCCL refuses, and that nobody may have read by before.
void Refused(ncclComm_t world, const ncclUniqueId& id, int rank, int ranks) {
  constexpr int kFarTooMany = 1 << 28;
  ncclUniqueId copy = id;
  int excluded = 0;
  ncclComm_t none = nullptr;
  Log("ncclCommInitRankScalable", ", \"ranks\": %d", ranks);
  if (ncclCommInitRankScalable(&none, ranks, rank, kFarTooMany, &copy, nullptr) == ncclSuccess) _exit(75);
  Log("ncclCommShrink");
  if (ncclCommShrink(world, &excluded, kFarTooMany, &none, nullptr, 0) == ncclSuccess) _exit(76);
}

void OwnProcess(int device) {
  ncclComm_t one[1];
  CALL(ncclCommInitAll, (one, 1, &device), ", \"ranks\": 1");
  CALL(ncclCommDestroy, (one[0]));
}

int Rank(Ranks& job, int rank, const char* log) {
  g_log = fopen((std::string(log) + "." + std::to_string(rank)).c_str(), "w");
  Buffers b;
  if (!g_log || cudaSetDevice(rank) || cudaMalloc(&b.send, kBytes) || cudaMalloc(&b.recv, kBytes)) return 60;
  if (cudaMemset(b.send, 0, kBytes) || cudaStreamCreate(&b.stream)) return 61;
  if (rank == 0) Log("ncclGetUniqueId");
  ncclUniqueId id = job.Id(0, rank);
  ncclComm_t world = nullptr, scalable = nullptr;
  CALL(ncclCommInitRank, (&world, job.size(), id, rank), ", \"ranks\": %d", job.size());
  Collectives(b, world, job.size());
  OwnOperator(b, world);
  Ring(b, world, rank, job.size());
  Memory(b, world);
  Children(b, world, rank, job.size());
  if (rank == 0) Log("ncclGetUniqueId");
  NonBlocking(b, job.Id(1, rank), rank, job.size());
  if (rank == 0) Log("ncclGetUniqueId");
  if (rank == 1) Log("ncclGetUniqueId");
  ncclUniqueId ids[2] = {job.Id(2, rank), job.Id(3, rank, 1)};
  CALL(ncclCommInitRankScalable, (&scalable, job.size(), rank, 2, ids, nullptr), ", \"ranks\": %d", job.size());
  End(scalable);
  OneSided(b, world, rank, job.size());
  Growth(job, b, world, rank, job.size());
  Rest(b, world, rank);
  if (getenv("REFUSED")) Refused(world, id, rank, job.size());
  OwnProcess(rank);
  cudaStreamSynchronize(b.stream);
  End(world);
  fclose(g_log);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Ranks job(atoi(argv[1]));
  return job.Run([&](int rank) { return Rank(job, rank, argv[2]); });
}
