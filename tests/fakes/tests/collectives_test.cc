#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "tests/fakes/nccl/numbers.h"
#include "tests/fakes/tests/ranks.h"

static std::atomic<int> broadcasts_seen{0};

// Comes before the library's own, as a preloaded one would.
extern "C" ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                                      ncclComm_t comm, ncclStream_t stream) {
  ++broadcasts_seen;
  auto real = reinterpret_cast<decltype(&ncclBroadcast)>(dlsym(RTLD_NEXT, "ncclBroadcast"));
  return real(send, recv, count, type, root, comm, stream);
}

namespace ddbg::fakes {
namespace {

constexpr size_t kCount = 5;

// Rank r has r + 1, r + 2, r + 1, r + 2, …
template <class T>
std::vector<T> Values(int rank, size_t count) {
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<T>(static_cast<float>(rank + 1 + i % 2)));
  return values;
}

float Expected(ncclRedOp_t op, int ranks, size_t i) {
  float result = 1 + i % 2;
  for (int rank = 1; rank < ranks; ++rank) {
    float value = rank + 1 + i % 2;
    switch (op) {
      case ncclProd: result *= value; break;
      case ncclMax: result = std::max(result, value); break;
      case ncclMin: result = std::min(result, value); break;
      default: result += value;
    }
  }
  return op == ncclAvg ? result / ranks : result;
}

template <class T>
void ExpectAllReduce(const Rank& rank, ncclComm_t comm, ncclDataType_t type) {
  for (ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
    T* send = OnDevice(Values<T>(rank.rank, kCount));
    T* recv = OnDevice(std::vector<T>(kCount));
    ASSERT_EQ(ncclAllReduce(send, recv, kCount, type, op, comm, nullptr), ncclSuccess);
    std::vector<T> got = FromDevice(recv, kCount);
    for (size_t i = 0; i < kCount; ++i) {
      float expected = static_cast<float>(static_cast<T>(Expected(op, rank.ranks, i)));
      EXPECT_EQ(static_cast<float>(got[i]), expected) << "type " << type << " op " << op << " element " << i;
    }
  }
}

TEST(Collectives, AllReduceInEveryTypeAndOp) {
  RunRanks(3, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    ExpectAllReduce<int8_t>(rank, comm, ncclInt8);
    ExpectAllReduce<uint8_t>(rank, comm, ncclUint8);
    ExpectAllReduce<int32_t>(rank, comm, ncclInt32);
    ExpectAllReduce<uint32_t>(rank, comm, ncclUint32);
    ExpectAllReduce<int64_t>(rank, comm, ncclInt64);
    ExpectAllReduce<uint64_t>(rank, comm, ncclUint64);
    ExpectAllReduce<nullnccl::Float16>(rank, comm, ncclFloat16);
    ExpectAllReduce<float>(rank, comm, ncclFloat32);
    ExpectAllReduce<double>(rank, comm, ncclFloat64);
    ExpectAllReduce<nullnccl::Bfloat16>(rank, comm, ncclBfloat16);
    ExpectAllReduce<nullnccl::Float8e4m3>(rank, comm, ncclFloat8e4m3);
    ExpectAllReduce<nullnccl::Float8e5m2>(rank, comm, ncclFloat8e5m2);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

// Longer than one slot of the segment, and no multiple of it.
TEST(Collectives, AllReduceOfLongArrays) {
  constexpr size_t kLong = 300'001;
  RunRanks(8, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    double* data = OnDevice(std::vector<double>(kLong, rank.rank));
    ASSERT_EQ(ncclAllReduce(data, data, kLong, ncclFloat64, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(data, kLong), std::vector<double>(kLong, 28));
  });
}

TEST(Collectives, ReduceGivesTheRootAlone) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* send = OnDevice<int>({rank.rank + 1, 10});
    int* recv = rank.rank == 1 ? OnDevice<int>({0, 0}) : nullptr;
    ASSERT_EQ(ncclReduce(send, recv, 2, ncclInt32, ncclSum, 1, comm, nullptr), ncclSuccess);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    if (recv) {
      EXPECT_EQ(FromDevice(recv, 2), (std::vector<int>{3, 20}));
    }
  });
}

TEST(Collectives, BroadcastFromAnyRoot) {
  RunRanks(3, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    for (int root = 0; root < 3; ++root) {
      int* send = rank.rank == root ? OnDevice<int>({root, 7}) : nullptr;
      int* recv = OnDevice<int>({-1, -1});
      ASSERT_EQ(ncclBroadcast(send, recv, 2, ncclInt32, root, comm, nullptr), ncclSuccess);
      EXPECT_EQ(FromDevice(recv, 2), (std::vector<int>{root, 7}));
    }
  });
}

TEST(Collectives, BcastCallsBroadcastThroughThePlt) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({rank.rank + 5});
    ASSERT_EQ(ncclBcast(data, 1, ncclInt32, 1, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(data, 1), std::vector<int>{6});
    EXPECT_EQ(broadcasts_seen, 1);
  });
}

TEST(Collectives, AllGatherAndReduceScatter) {
  RunRanks(3, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* gathered = OnDevice(std::vector<int>(6));
    ASSERT_EQ(ncclAllGather(OnDevice<int>({rank.rank, 9}), gathered, 2, ncclInt32, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(gathered, 6), (std::vector<int>{0, 9, 1, 9, 2, 9}));

    int* part = OnDevice(std::vector<int>(2));
    ASSERT_EQ(ncclReduceScatter(OnDevice<int>({0, 1, 2, 3, 4, 5}), part, 2, ncclInt32, ncclSum, comm, nullptr),
              ncclSuccess);
    EXPECT_EQ(FromDevice(part, 2), (std::vector<int>{6 * rank.rank, 6 * rank.rank + 3}));
  });
}

// The blocks of a rank lie in several slots' worth of the stream.
TEST(Collectives, ReduceScatterOfLongArrays) {
  constexpr size_t kLong = 200'003;
  RunRanks(3, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    std::vector<double> send;
    for (size_t i = 0; i < 3 * kLong; ++i) send.push_back(i);
    double* part = OnDevice(std::vector<double>(kLong));
    ASSERT_EQ(ncclReduceScatter(OnDevice(send), part, kLong, ncclFloat64, ncclMax, comm, nullptr), ncclSuccess);
    std::vector<double> got = FromDevice(part, kLong);
    EXPECT_EQ(got.front(), rank.rank * kLong);
    EXPECT_EQ(got.back(), (rank.rank + 1) * kLong - 1);
  });
}

TEST(Collectives, AlltoAllGatherAndScatter) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int me = 10 * rank.rank;
    int* exchanged = OnDevice(std::vector<int>(2));
    ASSERT_EQ(ncclAlltoAll(OnDevice<int>({me, me + 1}), exchanged, 1, ncclInt32, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(exchanged, 2), (std::vector<int>{rank.rank, 10 + rank.rank}));

    int* gathered = rank.rank == 1 ? OnDevice(std::vector<int>(2)) : nullptr;
    ASSERT_EQ(ncclGather(OnDevice<int>({me + 3}), gathered, 1, ncclInt32, 1, comm, nullptr), ncclSuccess);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    if (gathered) {
      EXPECT_EQ(FromDevice(gathered, 2), (std::vector<int>{3, 13}));
    }

    int* scattered = OnDevice(std::vector<int>(1));
    int* parts = rank.rank == 0 ? OnDevice<int>({4, 5}) : nullptr;
    ASSERT_EQ(ncclScatter(parts, scattered, 1, ncclInt32, 0, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(scattered, 1), std::vector<int>{4 + rank.rank});
  });
}

// The others do not come: count 0 ends before anybody is asked.
TEST(Collectives, CountZeroIsDropped) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    float* data = OnDevice<float>({1});
    if (rank.rank == 0) {
      ASSERT_EQ(ncclAllReduce(data, data, 0, ncclFloat32, ncclSum, comm, nullptr), ncclSuccess);
      ASSERT_EQ(ncclAlltoAll(data, data, 0, ncclFloat32, comm, nullptr), ncclSuccess);
      EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    }
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(data, 1), std::vector<float>{2});
  });
}

TEST(Collectives, OneRankIsACopy) {
  RunRanks(1, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* recv = OnDevice<int>({0});
    ASSERT_EQ(ncclAllReduce(OnDevice<int>({42}), recv, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(FromDevice(recv, 1), std::vector<int>{42});
  });
}

// Each rank scales what it puts in, by its own scalar.
TEST(Collectives, CustomOpScalesEachRanksInput) {
  RunRanks(2, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    float scalar = rank.rank ? 100 : 10;
    ncclRedOp_t op;
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32, ncclScalarHostImmediate, comm), ncclSuccess);
    EXPECT_GT(op, ncclAvg);
    float* data = OnDevice<float>({2});
    ASSERT_EQ(ncclAllReduce(data, data, 1, ncclFloat32, op, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclRedOpDestroy(op, comm), ncclSuccess);
    EXPECT_EQ(FromDevice(data, 1), std::vector<float>{220});
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclFloat32, op, comm, nullptr), ncclInvalidArgument);
  });
}

TEST(Collectives, BadArgumentsAreToldAtOnce) {
  RunRanks(1, {}, [](const Rank& rank) {
    ncclComm_t comm = rank.Init();
    int* data = OnDevice<int>({1});
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, nullptr, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(nullptr, data, 1, ncclInt32, ncclSum, comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclBroadcast(data, data, 1, ncclInt32, 1, comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(data, data, 1, static_cast<ncclDataType_t>(12), ncclSum, comm, nullptr),
              ncclInvalidArgument);
    EXPECT_STREQ(ncclGetLastError(comm), "invalid data type");
  });
}

}  // namespace
}  // namespace ddbg::fakes
