#include "tests/fakes/tests/ranks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace ddbg::fakes {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kDeadline = std::chrono::seconds(20);
constexpr auto kHang = std::chrono::milliseconds(300);
constexpr int kIds = 4;

// A folder that is gone when the test ends, with what hung ranks left in it.
class SharedFolder {
 public:
  SharedFolder() {
    char name[] = "/dev/shm/ddbg-fakes-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~SharedFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Ids as the double makes them, without the double: the parent must not start it.
std::vector<ncclUniqueId> MakeIds() {
  std::vector<ncclUniqueId> ids(kIds);
  for (int i = 0; i < kIds; ++i) snprintf(ids[i].internal, sizeof(ids[i].internal), "nullnccl-test%d-%d", getpid(), i);
  return ids;
}

[[noreturn]] void RunChild(pid_t parent, const SharedFolder& folder, const Environment& environment, const Rank& rank,
                           const std::function<void(const Rank&)>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setenv("NULLNCCL_SHM_DIR", folder.path().c_str(), 1);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  cudaSetDevice(rank.rank);
  body(rank);
  fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

// Takes each rank as it ends: one that is dead and not waited for is still there for its peers.
void Reap(std::vector<pid_t> pids) {
  Clock::time_point deadline = Clock::now() + kDeadline;
  bool killed = false;
  for (size_t left = pids.size(); left > 0;) {
    for (size_t rank = 0; rank < pids.size(); ++rank) {
      int status;
      if (!pids[rank] || waitpid(pids[rank], &status, WNOHANG) == 0) continue;
      EXPECT_TRUE(killed || status == 0) << "rank " << rank << " ended with status " << status;
      pids[rank] = 0;
      --left;
    }
    if (!killed && Clock::now() > deadline) {
      killed = true;
      for (size_t rank = 0; rank < pids.size(); ++rank) {
        if (!pids[rank]) continue;
        ADD_FAILURE() << "rank " << rank << " did not end in time";
        kill(pids[rank], SIGKILL);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

ncclComm_t Rank::Init(int number) const {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, ids[number], rank), ncclSuccess) << ncclGetLastError(nullptr);
  return comm;
}

void RunRanks(int ranks, const Environment& environment, const std::function<void(const Rank&)>& body) {
  SharedFolder folder;
  Rank rank{0, ranks, MakeIds()};
  std::vector<pid_t> pids;
  pid_t parent = getpid();
  fflush(nullptr);
  for (; rank.rank < ranks; ++rank.rank) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) RunChild(parent, folder, environment, rank, body);
    pids.push_back(pid);
  }
  Reap(pids);
}

bool WaitUntil(const std::function<bool()>& met) {
  for (Clock::time_point deadline = Clock::now() + std::chrono::seconds(10); !met();) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool Hangs(cudaStream_t stream) {
  for (Clock::time_point deadline = Clock::now() + kHang; cudaStreamQuery(stream) == cudaErrorNotReady;) {
    if (Clock::now() > deadline) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace ddbg::fakes
