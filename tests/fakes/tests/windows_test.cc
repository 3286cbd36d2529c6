#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/fakes/tests/ranks.h"

namespace ddbg::fakes {
namespace {

ncclResult_t StateOf(ncclComm_t comm) {
  ncclResult_t state = ncclInternalError;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  return state;
}

void* PageAligned(size_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(ncclMemAlloc(&memory, bytes), ncclSuccess);
  return memory;
}

TEST(Windows, PutArrivesWithItsSignal) {
  RunRanks(2, {}, [](const Rank& rank) {
    constexpr size_t kLong = 100'000;  // both put more than a pipe holds before either waits
    ncclComm_t comm = rank.Init();
    ncclWindow_t window = nullptr;
    int* memory = static_cast<int*>(PageAligned(kLong * sizeof(int) + 8));
    EXPECT_EQ(ncclCommWindowRegister(comm, memory + 1, 64, &window, 1), ncclInvalidArgument);
    ASSERT_EQ(ncclCommWindowRegister(comm, memory, kLong * sizeof(int) + 8, &window, 1), ncclSuccess);
    void* pointer;
    EXPECT_EQ(ncclWinGetUserPtr(comm, window, &pointer), ncclSuccess);
    EXPECT_EQ(pointer, memory);
    int peer = 1 - rank.rank;
    int* send = OnDevice(std::vector<int>(kLong, rank.rank + 1));
    ASSERT_EQ(ncclPutSignal(send, kLong, ncclInt32, peer, window, 8, 0, 0, 0, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclSignal(peer, 0, 0, 0, comm, nullptr), ncclSuccess);
    ncclWaitSignalDesc_t both = {2, peer, 0, 0};
    ASSERT_EQ(ncclWaitSignal(1, &both, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(memory + 2, kLong), std::vector<int>(kLong, peer + 1));
    EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclSuccess);
    EXPECT_EQ(ncclWaitSignal(1, &both, comm, nullptr), ncclSuccess);
    EXPECT_TRUE(Hangs(nullptr));  // no further signals come
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  });
}

TEST(Windows, RegistrationWaitsForAllRanks) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm;
    ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, rank.ids[0], rank.rank, &config), ncclInProgress);
    ASSERT_TRUE(WaitUntil([&] { return StateOf(comm) == ncclSuccess; }));
    if (rank.rank == 1) {
      usleep(400'000);
      return;
    }
    ncclWindow_t window;
    EXPECT_EQ(ncclCommWindowRegister(comm, PageAligned(64), 64, &window, 1), ncclInProgress);
    usleep(300'000);
    EXPECT_EQ(StateOf(comm), ncclInProgress);
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  });
}

}  // namespace
}  // namespace ddbg::fakes
