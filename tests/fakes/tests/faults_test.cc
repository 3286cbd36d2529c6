// NCCL's manners when ranks do not fit together, and the faults that can be asked for.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/fakes/tests/ranks.h"

namespace ddbg::fakes {
namespace {

const Environment kFinish = {{"NULLNCCL_MISMATCH", "finish"}, {"NULLNCCL_AFTER_MISMATCH", "finish"}};

void ExpectHangs(ncclComm_t comm) {
  EXPECT_TRUE(Hangs(nullptr));
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

// An all-reduce of ones, which gives how many ranks there are.
void ExpectOneMoreWorks(const Rank& rank, ncclComm_t comm) {
  int* one = OnDevice<int>({1});
  ASSERT_EQ(ncclAllReduce(one, one, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(FromDevice(one, 1)[0], rank.ranks);
}

TEST(Mismatch, OfKindHangs) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    float* data = OnDevice<float>({1, 2, 3, 4});
    if (rank.rank == 0) {
      ncclAllReduce(data, data, 2, ncclFloat32, ncclSum, comm, nullptr);
    } else {
      ncclAllGather(data, data, 2, ncclFloat32, comm, nullptr);
    }
    ExpectHangs(comm);
  });
}

TEST(Mismatch, OfCountTypeOpOrRootHangs) {
  for (int what = 0; what < 4; ++what) {
    RunRanks(2, {}, [what](const Rank& rank) {
      ncclComm_t comm = rank.Init();
      bool differs = rank.rank == 1;
      int* data = OnDevice<int>({1, 2, 3, 4});
      if (what == 0) ncclAllReduce(data, data, 2 + differs, ncclInt32, ncclSum, comm, nullptr);
      if (what == 1) ncclAllReduce(data, data, 2, differs ? ncclFloat32 : ncclInt32, ncclSum, comm, nullptr);
      if (what == 2) ncclAllReduce(data, data, 2, ncclInt32, differs ? ncclMax : ncclSum, comm, nullptr);
      if (what == 3) ncclBroadcast(data, data, 2, ncclInt32, differs, comm, nullptr);
      ExpectHangs(comm);
    });
  }
}

TEST(Mismatch, OfCountCanFinishWithAWrongTail) {
  RunRanks(2, kFinish, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* send = OnDevice<int>({1, 2, 3, 4});
    int* recv = OnDevice<int>({-1, -1, -1, -1});
    ASSERT_EQ(ncclAllReduce(send, recv, rank.rank ? 4 : 2, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(recv, 4), (std::vector<int>{2, 4, -1, -1}));
    ExpectOneMoreWorks(rank, comm);
  });
}

TEST(Mismatch, OfGatheredCountCanFinish) {
  RunRanks(2, kFinish, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* send = OnDevice<int>({rank.rank + 1, rank.rank + 3});
    int* recv = OnDevice<int>({-1, -1, -1, -1});
    ASSERT_EQ(ncclAllGather(send, recv, rank.rank ? 2 : 1, ncclInt32, comm, nullptr), ncclSuccess);
    // Each takes blocks of its own length, as far as the shorter one goes.
    EXPECT_EQ(FromDevice(recv, 4), rank.rank ? (std::vector<int>{1, -1, 2, -1}) : (std::vector<int>{1, 2, -1, -1}));
  });
}

// Each takes the same bytes for what it asked for.
TEST(Mismatch, OfTypeCanFinish) {
  RunRanks(2, kFinish, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int8_t* data = OnDevice<int8_t>({1, 1, 1, 1, 1, 1, 1, 1});
    bool bytes = rank.rank == 0;
    ASSERT_EQ(ncclAllReduce(data, data, bytes ? 8 : 2, bytes ? ncclInt8 : ncclInt32, ncclMax, comm, nullptr),
              ncclSuccess);
    EXPECT_EQ(FromDevice(data, 8), std::vector<int8_t>(8, 1));
    ExpectOneMoreWorks(rank, comm);
  });
}

TEST(Mismatch, OfOpCanFinishWithReplicasThatDiffer) {
  RunRanks(2, kFinish, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({rank.rank + 2});
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, rank.rank ? ncclMax : ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(data, 1)[0], rank.rank ? 3 : 5);
  });
}

TEST(Mismatch, OfRootCanFinish) {
  RunRanks(3, kFinish, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({rank.rank});
    ASSERT_EQ(ncclBroadcast(data, data, 1, ncclInt32, rank.rank == 2 ? 1 : rank.rank, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(data, 1)[0], rank.rank == 2 ? 1 : rank.rank);
  });
}

// By default, what comes after sizes that did not fit hangs, also where they themselves finished.
TEST(Mismatch, OfCountHangsWhatComesAfter) {
  RunRanks(2, {{"NULLNCCL_MISMATCH", "finish"}}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({1, 2, 3, 4});
    ASSERT_EQ(ncclAllReduce(data, data, rank.rank ? 4 : 2, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    ExpectHangs(comm);
  });
}

TEST(Faults, StallStopsTheNthCollectiveOfOneRank) {
  RunRanks(3, {{"NULLNCCL_STALL", "1:3"}}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init(), made;
    ExpectOneMoreWorks(rank, comm);
    ASSERT_EQ(ncclCommSplit(comm, 0, 0, &made, nullptr), ncclSuccess);
    ExpectOneMoreWorks(rank, made);
    int* data = OnDevice<int>({1});
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    ExpectHangs(comm);
  });
}

TEST(Faults, DelayHoldsAllUp) {
  RunRanks(2, {{"NULLNCCL_DELAY", "1:200000"}}, [](const Rank& rank) {
    auto start = std::chrono::steady_clock::now();  // before all have met, and so before the delay
    ncclComm_t comm = rank.Init();
    ExpectOneMoreWorks(rank, comm);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
  });
}

TEST(Faults, ChannelsThatDifferHangTheFirstCollective) {
  RunRanks(2, {{"NULLNCCL_CHANNELS", "1:4"}}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({1});
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    ExpectHangs(comm);
  });
}

TEST(Faults, VersionIsAsAsked) {
  RunRanks(1, {{"NULLNCCL_VERSION", "21805"}}, [](const Rank&) {
    int version;
    EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
    EXPECT_EQ(version, 21805);
  });
}

}  // namespace
}  // namespace ddbg::fakes
