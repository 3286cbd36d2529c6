#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/fakes/tests/ranks.h"

namespace ddbg::fakes {
namespace {

// Something on a stream that ends when it is told to.
struct Gate {
  std::atomic<bool> open{false};
  static void Wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open) usleep(100);
  }
};

void Kernel() {}
const void* const kKernel = reinterpret_cast<const void*>(&Kernel);
constexpr cudaDim3 kOne = {1, 1, 1};

TEST(Streams, DoTheirWorkInOrderAndByThemselves) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t stream;
    Gate gate;
    int* data = OnDevice<int>({1, 2});
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(stream, Gate::Wait, &gate), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(data, data + 1, sizeof(int), cudaMemcpyDefault, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    EXPECT_EQ(FromDevice(data, 1)[0], 1);  // by the legacy stream, which does not wait for this one
    gate.open = true;
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(FromDevice(data, 1)[0], 2);
  });
}

TEST(Streams, LegacyStreamWaitsForBlockingOnes) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t stream;
    Gate gate;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(stream, Gate::Wait, &gate), cudaSuccess);
    ASSERT_EQ(cudaLaunchKernel(kKernel, kOne, kOne, nullptr, 0, cudaStreamLegacy), cudaSuccess);
    EXPECT_TRUE(Hangs(nullptr));
    gate.open = true;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  });
}

TEST(Streams, EventsOrderThem) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t first, second;
    cudaEvent_t start, end;
    Gate gate;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    EXPECT_EQ(cudaEventQuery(end), cudaSuccess);  // never recorded
    cudaEventRecord(start, first);
    cudaLaunchHostFunc(first, Gate::Wait, &gate);
    cudaEventRecord(end, first);
    cudaStreamWaitEvent(second, end, 0);
    EXPECT_TRUE(Hangs(second));
    EXPECT_EQ(cudaEventQuery(end), cudaErrorNotReady);
    gate.open = true;
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    float milliseconds = 0;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
    EXPECT_GE(milliseconds, 100);  // most of the time that it was seen to hang
    EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(end), cudaErrorInvalidResourceHandle);
  });
}

TEST(Streams, EachThreadHasItsOwn) {
  RunRanks(1, {}, [](const Rank&) {
    unsigned long long here = 0, there = 0, legacy = 0;
    ASSERT_EQ(cudaStreamGetId(cudaStreamPerThread, &here), cudaSuccess);
    std::thread([&] { ASSERT_EQ(cudaStreamGetId(cudaStreamPerThread, &there), cudaSuccess); }).join();
    ASSERT_EQ(cudaStreamGetId(nullptr, &legacy), cudaSuccess);
    EXPECT_NE(here, there);
    EXPECT_NE(here, legacy);
    Gate gate;
    cudaLaunchHostFunc(cudaStreamPerThread, Gate::Wait, &gate);
    ASSERT_EQ(cudaLaunchKernel_ptsz(kKernel, kOne, kOne, nullptr, 0, nullptr), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    gate.open = true;
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  });
}

TEST(Streams, LaunchBlocksWhenTheQueueIsFull) {
  RunRanks(1, {{"NULLGPU_QUEUE", "4"}}, [](const Rank&) {
    Gate gate;
    std::atomic<int> launched{0};
    cudaLaunchHostFunc(nullptr, Gate::Wait, &gate);
    std::thread launches([&] {
      for (; launched < 10; ++launched) cudaLaunchKernel(kKernel, kOne, kOne, nullptr, 0, nullptr);
    });
    EXPECT_TRUE(WaitUntil([&] { return launched >= 3; }));
    EXPECT_TRUE(Hangs(nullptr));
    EXPECT_LE(launched, 5);
    gate.open = true;
    launches.join();
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  });
}

TEST(Streams, HandlesThatAreNoneAreErrors) {
  RunRanks(1, {}, [](const Rank&) {
    cudaStream_t stream;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  });
}

TEST(Memory, EndsWhereTheDevicesDoes) {
  RunRanks(1, {{"NULLGPU_MEM_MIB", "4"}}, [](const Rank&) {
    void *first, *second;
    ASSERT_EQ(cudaMalloc(&first, 3 << 20), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&second, 2 << 20), cudaErrorMemoryAllocation);
    ASSERT_EQ(cudaFree(first), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&second, 2 << 20), cudaSuccess);
    EXPECT_EQ(cudaFree(first), cudaErrorInvalidValue);
  });
}

TEST(Kernels, AreNamedAsTheyWereRegistered) {
  RunRanks(1, {}, [](const Rank&) {
    static int binary;
    const char* name = nullptr;
    cudaKernel_t kernel = nullptr;
    void** handle = __cudaRegisterFatBinary(&binary);
    const char* host = static_cast<const char*>(kKernel);
    __cudaRegisterFunction(handle, host, nullptr, "_Z6KernelPf", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    ASSERT_EQ(__cudaGetKernel(&kernel, kKernel), cudaSuccess);
    EXPECT_NE(kernel, kKernel);
    ASSERT_EQ(cudaFuncGetName(&name, kernel), cudaSuccess);
    EXPECT_STREQ(name, "_Z6KernelPf");
    ASSERT_EQ(cudaFuncGetName(&name, kKernel), cudaSuccess);
    cudaLaunchConfig_t configuration = {kOne, kOne, 0, nullptr, nullptr, 0};
    EXPECT_EQ(__cudaLaunchKernel(kernel, kOne, kOne, nullptr, 0, nullptr), cudaSuccess);
    EXPECT_EQ(cudaLaunchKernelExC(&configuration, kKernel, nullptr), cudaSuccess);
    EXPECT_EQ(cudaLaunchCooperativeKernel(kKernel, kOne, kOne, nullptr, 0, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  });
}

TEST(Kernels, KeepTheStreamBusyAsLongAsAsked) {
  RunRanks(1, {{"NULLGPU_KERNEL_US", "50000"}}, [](const Rank&) {
    auto start = std::chrono::steady_clock::now();
    cudaLaunchKernel(kKernel, kOne, kOne, nullptr, 0, nullptr);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
  });
}

}  // namespace
}  // namespace ddbg::fakes
