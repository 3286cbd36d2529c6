#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "tests/fakes/tests/ranks.h"

namespace ddbg::fakes {
namespace {

// The sum of what the ranks put in, by an all-reduce of one element.
int SumOver(ncclComm_t comm, int value) {
  int* data = OnDevice<int>({value});
  EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
  return FromDevice(data, 1)[0];
}

int RankIn(ncclComm_t comm) {
  int rank = -1;
  EXPECT_EQ(ncclCommUserRank(comm, &rank), ncclSuccess);
  return rank;
}

int SizeOf(ncclComm_t comm) {
  int count = -1;
  EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
  return count;
}

ncclResult_t StateOf(ncclComm_t comm) {
  ncclResult_t state = ncclInternalError;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  return state;
}

TEST(Communicators, SplitByColourAndKey) {
  RunRanks(4, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init(), made;
    ASSERT_EQ(ncclCommSplit(comm, rank.rank % 2, -rank.rank, &made, nullptr), ncclSuccess);
    EXPECT_EQ(SizeOf(made), 2);
    EXPECT_EQ(RankIn(made), rank.rank < 2 ? 1 : 0);  // by key: the other way round
    EXPECT_EQ(SumOver(made, rank.rank), rank.rank % 2 ? 4 : 2);
    ASSERT_EQ(ncclCommSplit(comm, rank.rank == 0 ? -1 : 5, 0, &made, nullptr), ncclSuccess);
    if (rank.rank == 0) {
      EXPECT_EQ(made, nullptr);
    } else {
      EXPECT_EQ(SumOver(made, 1), 3);
    }
  });
}

TEST(Communicators, ShrinkLeavesRanksOut) {
  RunRanks(3, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init(), made;
    if (rank.rank == 1) return;
    int excluded = 1;
    ASSERT_EQ(ncclCommShrink(comm, &excluded, 1, &made, nullptr, 0), ncclSuccess);
    EXPECT_EQ(RankIn(made), rank.rank / 2);
    EXPECT_EQ(SumOver(made, rank.rank), 2);
    int self = rank.rank;
    EXPECT_EQ(ncclCommShrink(comm, &self, 1, &made, nullptr, 0), ncclInvalidArgument);
  });
}

// The parent hangs in a collective that rank 1 left out.
TEST(Communicators, ShrinkWithAbortEndsWhatHangs) {
  RunRanks(3, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init(), made;
    if (rank.rank == 1) return;
    int* data = OnDevice<int>({1});
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    int excluded = 1;
    ASSERT_EQ(ncclCommShrink(comm, &excluded, 1, &made, nullptr, 1), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(SumOver(made, 1), 2);
  });
}

TEST(Communicators, GrowByOneRank) {
  RunRanks(3, {}, [](const Rank& rank) {
    ncclComm_t grown = nullptr;
    if (rank.rank == 2) {
      // The id comes by a way of its own: here, by a communicator of all.
      ncclUniqueId id;
      ncclComm_t all = rank.Init(1);
      auto* there = OnDevice(std::vector<ncclUniqueId>(1));
      ASSERT_EQ(ncclBroadcast(there, there, sizeof(id), ncclInt8, 0, all, nullptr), ncclSuccess);
      id = FromDevice(there, 1)[0];
      ASSERT_EQ(ncclCommGrow(nullptr, 3, &id, 2, &grown, nullptr), ncclSuccess);
    } else {
      ncclComm_t pair = nullptr;
      ASSERT_EQ(ncclCommInitRank(&pair, 2, rank.ids[0], rank.rank), ncclSuccess);
      ncclUniqueId id = {};
      if (rank.rank == 0) {
        ASSERT_EQ(ncclCommGetUniqueId(pair, &id), ncclSuccess);
      }
      ncclComm_t all = rank.Init(1);
      auto* there = OnDevice(std::vector<ncclUniqueId>{id});
      ASSERT_EQ(ncclBroadcast(there, there, sizeof(id), ncclInt8, 0, all, nullptr), ncclSuccess);
      ASSERT_EQ(ncclCommGrow(pair, 3, rank.rank == 0 ? &id : nullptr, -1, &grown, nullptr), ncclSuccess);
    }
    EXPECT_EQ(RankIn(grown), rank.rank);
    EXPECT_EQ(SumOver(grown, 1), 3);
  });
}

TEST(Communicators, FromSeveralIds) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm;
    auto ids = rank.ids;
    // More ids than ranks are refused (ncclCommInitRankDev in NCCL's init.cc).
    EXPECT_EQ(ncclCommInitRankScalable(&comm, 2, rank.rank, 3, ids.data(), nullptr), ncclInvalidArgument);
    ASSERT_EQ(ncclCommInitRankScalable(&comm, 2, rank.rank, 2, ids.data(), nullptr), ncclSuccess);
    EXPECT_EQ(SumOver(comm, 1), 2);
  });
}

TEST(Communicators, AllDevicesOfOneProcess) {
  RunRanks(1, {}, [](const Rank&) {
    ncclComm_t comms[2];
    int* data[2];
    ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess);
    ncclGroupStart();
    for (int i = 0; i < 2; ++i) {
      cudaSetDevice(i);
      data[i] = OnDevice<int>({i + 1});
      ASSERT_EQ(ncclAllReduce(data[i], data[i], 1, ncclInt32, ncclSum, comms[i], nullptr), ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    for (int i = 0; i < 2; ++i) {
      cudaSetDevice(i);
      EXPECT_EQ(FromDevice(data[i], 1)[0], 3);
      int device;
      EXPECT_EQ(ncclCommCuDevice(comms[i], &device), ncclSuccess);
      EXPECT_EQ(device, i);
    }
  });
}

TEST(Communicators, NonBlockingIsInProgressUntilAllAreThere) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t first = rank.Init(1), comm = nullptr;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (rank.rank == 0) {
      EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, rank.ids[0], 0, &config), ncclInProgress);
      int* data = OnDevice<int>({1});
      EXPECT_EQ(StateOf(comm), ncclInProgress);
      EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclInvalidArgument);
      SumOver(first, 0);  // lets the other rank go on
    } else {
      SumOver(first, 0);
      EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, rank.ids[0], 1, &config), ncclInProgress);
    }
    EXPECT_TRUE(WaitUntil([&] { return StateOf(comm) == ncclSuccess; }));
    int* data = OnDevice<int>({1});
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclInProgress);
    EXPECT_TRUE(WaitUntil([&] { return StateOf(comm) == ncclSuccess; }));
    EXPECT_EQ(FromDevice(data, 1)[0], 2);
    EXPECT_EQ(ncclCommFinalize(comm), ncclInProgress);
    EXPECT_TRUE(WaitUntil([&] { return StateOf(comm) == ncclSuccess; }));
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST(Communicators, AbortFreesAHungStream) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    if (rank.rank == 1) return;
    int* data = OnDevice<int>({1});
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_TRUE(Hangs(nullptr));
    std::thread([comm] { EXPECT_EQ(ncclCommAbort(comm), ncclSuccess); }).join();
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(ncclCommAbort(nullptr), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclInvalidArgument);
  });
}

TEST(Communicators, RevokedOneRefusesCallsButShrinks) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init(), made;
    int* data = OnDevice<int>({1});
    ASSERT_EQ(ncclAllReduce(data, data, rank.rank + 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclCommRevoke(comm, 0), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclInvalidUsage);
    EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidUsage);
    ASSERT_EQ(ncclCommSplit(comm, 0, 0, &made, nullptr), ncclSuccess);
    EXPECT_EQ(SumOver(made, 1), 2);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST(Communicators, OneDeviceForTwoRanksIsRefused) {
  RunRanks(2, {}, [](const Rank& rank) {
    cudaSetDevice(3);
    ncclComm_t comm;
    EXPECT_EQ(ncclCommInitRank(&comm, 2, rank.ids[0], rank.rank), ncclInvalidUsage);
    EXPECT_EQ(comm, nullptr);
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("Duplicate GPU detected : rank 0 and rank 1"),
              std::string::npos);
  });
  RunRanks(2, {{"NULLNCCL_ALLOW_DUPLICATE", "1"}}, [](const Rank& rank) {
    cudaSetDevice(3);
    EXPECT_EQ(SumOver(rank.Init(), 1), 2);
  });
}

// By CUDA_VISIBLE_DEVICES each rank's device 0 is another one.
TEST(Communicators, VisibleDevicesAreToldApart) {
  RunRanks(2, {{"CUDA_VISIBLE_DEVICES", "5,2,RANK"}}, [](const Rank& rank) {
    ncclComm_t comm;
    int count;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    EXPECT_EQ(count, 2);  // the list ends at what is no number
    EXPECT_EQ(ncclCommInitRank(&comm, 2, rank.ids[0], rank.rank), ncclSuccess);
  });
}

void Init(int rank, int ranks, const ncclUniqueId& id, ncclComm_t* comm) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  EXPECT_EQ(ncclCommInitRankConfig(comm, ranks, id, rank, &config), ncclInProgress);
}

// Does init not come to an end, and is it ended by abort?
void ExpectInitHangs(ncclComm_t comm) {
  usleep(300'000);
  EXPECT_EQ(StateOf(comm), ncclInProgress);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

TEST(Communicators, TwoThatSayTheSameRankHang) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm;
    Init(0, 2, rank.ids[0], &comm);
    ExpectInitHangs(comm);
  });
}

TEST(Communicators, DifferentNumbersOfRanksHang) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm;
    Init(rank.rank, 2 + rank.rank, rank.ids[0], &comm);
    ExpectInitHangs(comm);
  });
}

TEST(Communicators, InitErrorOfOneRankLeavesTheOthersWaiting) {
  RunRanks(2, {{"NULLNCCL_INIT_ERROR", "1:1"}}, [](const Rank& rank) {
    ncclComm_t comm;
    if (rank.rank == 1) {
      EXPECT_EQ(ncclCommInitRank(&comm, 2, rank.ids[0], 1), ncclUnhandledCudaError);
      usleep(400'000);
      return;
    }
    Init(0, 2, rank.ids[0], &comm);
    ExpectInitHangs(comm);
  });
}

TEST(Communicators, DeadPeerIsARemoteErrorIfAsked) {
  RunRanks(2, {{"NULLNCCL_PEER_DEATH", "1"}}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    SumOver(comm, 1);
    if (rank.rank == 1) return;
    int* data = OnDevice<int>({1});
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_TRUE(WaitUntil([&] { return StateOf(comm) == ncclRemoteError; }));
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  });
}

TEST(Communicators, ErrorsInAGroupAreItsEnds) {
  RunRanks(1, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({1});
    ncclGroupStart();
    ncclGroupStart();
    EXPECT_EQ(ncclBroadcast(data, data, 1, ncclInt32, 7, comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  });
}

TEST(Communicators, SimulatedGroupStartsNothing) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    if (rank.rank == 1) return;
    int* data = OnDevice<int>({1});
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    ncclGroupStart();
    ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr);
    EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess);
    EXPECT_GT(info.estimatedTime, 0);
    ncclGroupStart();
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);  // what was simulated is not in the next group
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  });
}

}  // namespace
}  // namespace ddbg::fakes
