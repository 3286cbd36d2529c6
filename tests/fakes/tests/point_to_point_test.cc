#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/fakes/tests/ranks.h"

namespace ddbg::fakes {
namespace {

TEST(PointToPoint, RingInAGroup) {
  RunRanks(4, {}, [](const Rank& rank) {
    constexpr size_t kLong = 500'000;  // several times what a pipe holds
    ncclComm_t comm = rank.Init();
    int* send = OnDevice(std::vector<int>(kLong, rank.rank));
    int* recv = OnDevice(std::vector<int>(kLong, -1));
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclSend(send, kLong, ncclInt32, (rank.rank + 1) % 4, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclRecv(recv, kLong, ncclInt32, (rank.rank + 3) % 4, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(FromDevice(recv, kLong), std::vector<int>(kLong, (rank.rank + 3) % 4));
  });
}

// The first is longer than a pipe: the second must not come in between.
TEST(PointToPoint, MessagesOfAPairKeepTheirOrder) {
  RunRanks(2, {}, [](const Rank& rank) {
    constexpr size_t kLong = 200'000;
    ncclComm_t comm = rank.Init();
    bool sends = rank.rank == 0;
    int* first = OnDevice(std::vector<int>(kLong, sends ? 1 : 0));
    int* second = OnDevice<int>({sends ? 2 : 0});
    auto move = [&](int* data, size_t count) {
      return sends ? ncclSend(data, count, ncclInt32, 1, comm, nullptr)
                   : ncclRecv(data, count, ncclInt32, 0, comm, nullptr);
    };
    ncclGroupStart();
    EXPECT_EQ(move(first, kLong), ncclSuccess);
    EXPECT_EQ(move(second, 1), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(FromDevice(first, kLong), std::vector<int>(kLong, 1));
    EXPECT_EQ(FromDevice(second, 1)[0], 2);
  });
}

TEST(PointToPoint, ToItselfInAGroup) {
  RunRanks(1, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* recv = OnDevice<int>({0});
    ncclGroupStart();
    ncclSend(OnDevice<int>({8}), 1, ncclInt32, 0, comm, nullptr);
    ncclRecv(recv, 1, ncclInt32, 0, comm, nullptr);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(FromDevice(recv, 1), std::vector<int>{8});
  });
}

// Both send first, without a group: each waits for a receive that comes behind its own send.
TEST(PointToPoint, CycleOfSendsHangs) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({1, 2});
    ASSERT_EQ(ncclSend(data, 1, ncclInt32, 1 - rank.rank, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclRecv(data + 1, 1, ncclInt32, 1 - rank.rank, comm, nullptr), ncclSuccess);
    EXPECT_TRUE(Hangs(nullptr));
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  });
}

TEST(PointToPoint, BufferedSendsDoNotWait) {
  RunRanks(2, {{"NULLNCCL_SEND", "buffered"}}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({rank.rank, -1});
    ncclSend(data, 1, ncclInt32, 1 - rank.rank, comm, nullptr);
    ncclRecv(data + 1, 1, ncclInt32, 1 - rank.rank, comm, nullptr);
    EXPECT_EQ(FromDevice(data, 2), (std::vector<int>{rank.rank, 1 - rank.rank}));
  });
}

// Unlike a collective's: a send of nothing meets a receive of nothing, and waits for it.
TEST(PointToPoint, CountZeroIsNotDropped) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({1});
    if (rank.rank == 0) {
      ASSERT_EQ(ncclSend(data, 0, ncclInt32, 1, comm, nullptr), ncclSuccess);
      EXPECT_TRUE(Hangs(nullptr));
      ASSERT_EQ(ncclSend(data, 1, ncclInt32, 1, comm, nullptr), ncclSuccess);
    } else {
      usleep(500'000);  // longer than the other needs to see that it hangs
      ASSERT_EQ(ncclRecv(data, 0, ncclInt32, 0, comm, nullptr), ncclSuccess);
      ASSERT_EQ(ncclRecv(data, 1, ncclInt32, 0, comm, nullptr), ncclSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  });
}

// Sends `sent` and receives `asked` elements of what rank 0 has, then one element more.
void SendAndReceive(const Rank& rank, ncclComm_t comm, int* data, size_t sent, size_t asked) {
  if (rank.rank == 0) {
    ASSERT_EQ(ncclSend(data, sent, ncclInt32, 1, comm, nullptr), ncclSuccess);
  } else {
    ASSERT_EQ(ncclRecv(data, asked, ncclInt32, 0, comm, nullptr), ncclSuccess);
  }
}

TEST(PointToPoint, SizesThatDifferHang) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({1, 2, 3});
    SendAndReceive(rank, comm, data, 3, 2);
    EXPECT_TRUE(Hangs(nullptr));
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  });
}

TEST(PointToPoint, SizesThatDifferCanFinishWithAWrongTail) {
  RunRanks(2, {{"NULLNCCL_MISMATCH", "finish"}, {"NULLNCCL_AFTER_MISMATCH", "finish"}}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice(rank.rank == 0 ? std::vector<int>{1, 2, 3} : std::vector<int>{-1, -1, -1});
    SendAndReceive(rank, comm, data, 2, 3);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    if (rank.rank == 1) {
      EXPECT_EQ(FromDevice(data, 3), (std::vector<int>{1, 2, -1}));
    }
    SendAndReceive(rank, comm, data, 3, 1);
    SendAndReceive(rank, comm, data, 1, 1);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    if (rank.rank == 1) {
      EXPECT_EQ(FromDevice(data, 3), (std::vector<int>{1, 2, -1}));
    }
  });
}

}  // namespace
}  // namespace ddbg::fakes
