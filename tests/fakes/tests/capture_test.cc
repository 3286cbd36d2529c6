#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/fakes/tests/ranks.h"

namespace ddbg::fakes {
namespace {

cudaStream_t NewStream() {
  cudaStream_t stream;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  return stream;
}

cudaEvent_t NewEvent() {
  cudaEvent_t event;
  EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
  return event;
}

int StatusOf(cudaStream_t stream) {
  int status = -1;
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  return status;
}

// Ends a capture that must be found invalidated.
void ExpectInvalidated(cudaStream_t stream) {
  cudaGraph_t graph = &graph;
  EXPECT_EQ(StatusOf(stream), cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(StatusOf(stream), cudaStreamCaptureStatusNone);
}

std::atomic<int> calls{0};
void Count(void*) { ++calls; }

TEST(Graphs, RunWhatWasCapturedAsOftenAsLaunched) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t stream = NewStream();
    int *from = OnDevice<int>({1}), *to = OnDevice<int>({0});
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(StatusOf(stream), cudaStreamCaptureStatusActive);
    ASSERT_EQ(cudaMemcpyAsync(to, from, sizeof(int), cudaMemcpyDefault, stream), cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(stream, Count, nullptr), cudaSuccess);
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    size_t nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 2u);
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(FromDevice(to, 1)[0], 0);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(FromDevice(to, 1)[0], 1);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  });
}

TEST(Graphs, HoldNcclOperations) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    cudaStream_t stream = NewStream();
    int* data = OnDevice<int>({1});
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream), ncclSuccess);
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream), ncclSuccess);
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream), ncclSuccess);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(FromDevice(data, 1)[0], 32);
    std::atomic<bool> destroyed{false};
    std::thread destroy([&] {
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
      destroyed = true;
    });
    usleep(100'000);
    EXPECT_FALSE(destroyed);  // it waits for the graph
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    destroy.join();
  });
}

TEST(Graphs, SpreadOverStreamsByEvents) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t origin = NewStream(), side = NewStream();
    cudaEvent_t fork = NewEvent(), join = NewEvent();
    cudaGraph_t graph;
    ASSERT_EQ(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(origin, Count, nullptr), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
    EXPECT_EQ(StatusOf(side), cudaStreamCaptureStatusActive);
    ASSERT_EQ(cudaLaunchHostFunc(side, Count, nullptr), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(join, side), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(origin, join, 0), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched);
    ExpectInvalidated(origin);

    ASSERT_EQ(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(side, Count, nullptr), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(origin, &graph), cudaErrorStreamCaptureUnjoined);
    EXPECT_EQ(StatusOf(side), cudaStreamCaptureStatusNone);

    ASSERT_EQ(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(side, fork, 0), cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(side, Count, nullptr), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(join, side), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(origin, join, 0), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(origin, &graph), cudaSuccess);
  });
}

TEST(Captures, AreInvalidatedByWaiting) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t stream = NewStream();
    cudaEvent_t event = NewEvent();
    void* memory;
    struct Case {
      const char* what;
      std::function<int()> call;
      int error;
    };
    const Case cases[] = {
        {"stream", [&] { return cudaStreamSynchronize(stream); }, cudaErrorStreamCaptureUnsupported},
        {"query", [&] { return cudaStreamQuery(stream); }, cudaErrorStreamCaptureUnsupported},
        {"device", [&] { return cudaDeviceSynchronize(); }, cudaErrorStreamCaptureUnsupported},
        {"malloc", [&] { return cudaMalloc(&memory, 8); }, cudaErrorStreamCaptureUnsupported},
        {"event", [&] { return cudaEventRecord(event, stream), cudaEventQuery(event); }, cudaErrorCapturedEvent},
    };
    for (const Case& one : cases) {
      ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
      EXPECT_EQ(one.call(), one.error) << one.what;
      EXPECT_EQ(cudaLaunchHostFunc(stream, Count, nullptr), cudaErrorStreamCaptureInvalidated) << one.what;
      ExpectInvalidated(stream);
    }
  });
}

// The three modes, as another thread's unsafe call meets them.
TEST(Captures, AreInvalidatedByOtherThreadsInGlobalModeOnly) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t stream = NewStream();
    cudaGraph_t graph;
    auto malloc_elsewhere = [](int mode) {
      int error = -1;
      std::thread([&] {
        void* memory;
        EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
        error = cudaMalloc(&memory, 8);
      }).join();
      return error;
    };
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(malloc_elsewhere(cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_EQ(malloc_elsewhere(cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    ExpectInvalidated(stream);
    for (int mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
      ASSERT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
      EXPECT_EQ(malloc_elsewhere(cudaStreamCaptureModeGlobal), cudaSuccess);
      EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    }
    void* memory;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  });
}

TEST(Captures, KeepApartFromWhatIsOutside) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t stream = NewStream(), other = NewStream(), blocking;
    cudaEvent_t event = NewEvent();
    ASSERT_EQ(cudaEventRecord(event, other), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
    EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation);
    ExpectInvalidated(stream);

    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other, event, 0), cudaErrorStreamCaptureMerge);
    ExpectInvalidated(stream);
    ExpectInvalidated(other);

    ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
    EXPECT_EQ(cudaLaunchHostFunc(nullptr, Count, nullptr), cudaErrorStreamCaptureImplicit);
    ExpectInvalidated(blocking);
    EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed), cudaErrorStreamCaptureUnsupported);
  });
}

TEST(Captures, EndInTheThreadThatBeganThem) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t stream = NewStream();
    cudaGraph_t graph;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    std::thread([&] { EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureWrongThread); }).join();
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
  });
}

}  // namespace
}  // namespace ddbg::fakes
