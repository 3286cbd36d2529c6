// N ranks as children of one process that makes no call itself, with memory they share and the environment torchrun
// gives. A rank whose parent dies is killed; the parent ends with the first bad exit code.
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>

#include "nccl.h"

struct SharedIds {
  ncclUniqueId id[64];
  std::atomic<int> ready[64];
  std::atomic<int> arrived[64];  // at meeting points that NCCL knows nothing of
};

class Ranks {
 public:
  explicit Ranks(int size) : size_(size) {
    void* memory = mmap(nullptr, sizeof(SharedIds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = static_cast<SharedIds*>(memory);
  }

  // Runs `body(rank)` in a process each; its result is the exit code. Returns the first that is not 0, 128 + a signal.
  int Run(const std::function<int(int)>& body) {
    for (int rank = 0; rank < size_; ++rank) {
      if (fork() > 0) continue;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
      setenv("WORLD_SIZE", std::to_string(size_).c_str(), 1);
      int code = body(rank);
      fflush(stdout);
      exit(code);
    }
    int worst = 0;
    for (int status; wait(&status) > 0;) {
      int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      if (worst == 0) worst = code;
    }
    return worst;
  }

  // The n-th unique id of the job: made by `root`, awaited by the others.
  ncclUniqueId Id(int n, int rank, int root = 0) {
    if (rank == root) {
      if (ncclGetUniqueId(&shared_->id[n])) exit(90);
      shared_->ready[n] = 1;
    }
    while (!shared_->ready[n]) Pause();
    return shared_->id[n];
  }

  // The same for an id that came in another way.
  ncclUniqueId Share(int n, bool have, const ncclUniqueId& id) {
    if (have) {
      shared_->id[n] = id;
      shared_->ready[n] = 1;
    }
    while (!shared_->ready[n]) Pause();
    return shared_->id[n];
  }

  // All ranks meet, without a call that ddbg could see.
  void Meet(int n) {
    ++shared_->arrived[n];
    while (shared_->arrived[n] < size_) Pause();
  }

  int size() const { return size_; }

  static void Pause() {
    timespec time = {0, 200'000};
    nanosleep(&time, nullptr);
  }

 private:
  int size_;
  SharedIds* shared_;
};
