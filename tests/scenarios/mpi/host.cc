#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <mutex>
#include <thread>

namespace {

constexpr double kStallMs = 220, kPauseMs = 400, kFrozenSeconds = 5;
constexpr int kStallEvery = 10;
constexpr double kDrift = 0.5;  // slower at the end than at the beginning by this share

double CpuMs() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

// A process of its own that does `what` and ends, and takes no file of ours with it.
template <class What>
void Apart(What what) {
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  what();
  _exit(0);
}

}  // namespace

void Host::Sleep(double ms) {
  auto ns = static_cast<long>(ms * 1e6);
  timespec time = {ns / 1'000'000'000, ns % 1'000'000'000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) continue;
}

void Host::Burn(double ms) {
  for (double end = CpuMs() + ms; CpuMs() < end;)
    for (int i = 0; i < 10000; ++i) asm volatile("");
}

void Host::Load() {
  job_.BeginPhase("loader");
  Prepare();
  job_.EndPhase("loader");
}

void Host::Prepare() {
  if (job_.Has("loader_stall") && job_.step > 0 && job_.step % kStallEvery == 0) {
    if (!told_) job_.Tell(nullptr, "", "loader"), told_ = true;
    Sleep(kStallMs);
  }
  if (job_.Breaks("loader_deadlock")) WaitForDeadWorker();
  Sleep(job_.Random(0, job_.options.step_ms / 10));
}

// A worker took the lock of the queue and has ended; nobody will ever give it back.
[[gnu::noinline]] void Host::WaitForDeadWorker() {
  static std::mutex queue;
  std::thread([] { queue.lock(); }).join();
  job_.Tell(nullptr, "", "arrival");
  queue.lock();
}

// How much longer than usual this rank computes now.
double Host::Slowdown() {
  double factor = 1;
  if (job_.Has("slow_rank")) factor = 2;
  if (job_.Since("slow_onset")) factor = 1.5;
  if (job_.Has("drift")) factor = 1 + kDrift * job_.step / job_.options.steps;
  if (job_.options.fault == "imbalance") factor = Length();
  bool due = job_.Has("slow_rank") || job_.Since("slow_onset") || job_.Has("drift") || job_.Since("contention");
  if (due && !told_) job_.Tell(nullptr, "", "compute"), told_ = true;
  if (job_.options.fault == "imbalance" && !told_ && job_.rank == 0) job_.Tell(nullptr, "", "compute"), told_ = true;
  return factor;
}

// Of the sequences in a batch, when each rank takes what comes: most are short, and some are very long. In a healthy
// twin they are packed.
double Host::Length() {
  if (job_.options.healthy) return job_.Random(0.9, 1.1);
  return job_.Random(0, 1) < 0.2 ? job_.Random(4, 8) : job_.Random(0.3, 1);
}

void Host::Compute(double share) {
  EndOrStop();
  double ms = job_.options.step_ms * share * job_.Random(0.97, 1.03) * Slowdown();
  double pauses = job_.options.healthy ? 0.005 : 0.15;  // in a step
  if (job_.options.fault == "pauses" && job_.Random(0, 1) < pauses * share) {
    if (!told_) job_.Tell(nullptr, "", "compute"), told_ = true;
    ms += kPauseMs;
  }
  if (job_.Since("contention") || job_.Since("throttle")) {
    if (!joined_) job_.options.fault == "throttle" ? JoinCgroup() : ShareCpu();
  }
  bool burns = job_.options.fault == "contention" || job_.options.fault == "throttle" || job_.options.fault == "busy";
  burns ? Burn(ms) : Sleep(ms);
}

void Host::EndOrStop() {
  if (job_.Breaks("kill")) {
    job_.Tell(nullptr, "", "process");
    // From aside, so that it comes while a call is under way or while none is.
    std::thread([] { Sleep(3), kill(getpid(), SIGKILL); }).detach();
  }
  if (job_.Breaks("exit")) job_.Tell(nullptr, "", "process"), _exit(0);
  if (job_.Breaks("exit_code")) job_.Tell(nullptr, "", "process"), exit(3);
  if (job_.Breaks("segfault")) job_.Tell(nullptr, "", "process"), raise(SIGSEGV);
  if (job_.Breaks("abort")) job_.Tell(nullptr, "", "process"), abort();
  if (job_.Breaks("freeze")) Freeze();
}

void Host::Freeze() {
  job_.Tell(nullptr, "", "process");
  pid_t self = getpid();
  Apart([self] {
    kill(self, SIGSTOP);
    Sleep(kFrozenSeconds * 1000);
    kill(self, SIGCONT);
  });
}

// A limit of the CPU's time, as a container's; the runner has made the group.
void Host::JoinCgroup() {
  joined_ = true;
  const char* group = getenv("SCENARIO_CGROUP");
  FILE* members = group ? fopen((std::string(group) + "/cgroup.procs").c_str(), "w") : nullptr;
  if (!members || fprintf(members, "%d\n", getpid()) < 0 || fclose(members) != 0) exit(2);
  if (!told_) job_.Tell(nullptr, "", "compute"), told_ = true;
}

// Others that want the same CPU.
void Host::ShareCpu() {
  joined_ = true;
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  for (int i = 0; i < (job_.options.healthy ? 0 : 8); ++i)
    Apart([&] {
      sched_setaffinity(0, sizeof(first), &first);
      Burn(60'000);
    });
  sched_setaffinity(0, sizeof(first), &first);
}

void Host::WriteCheckpoint() {
  job_.BeginPhase("checkpoint");
  Save();
  job_.EndPhase("checkpoint");
}

void Host::Save() {
  if (job_.Has("pause") && job_.options.healthy) Sleep(12'000);
  if (job_.Since("slow_write")) return WriteSlowly();
  const char* disk = getenv("SCENARIO_DISK");
  if (!disk) return Sleep(1);
  std::string path = std::string(disk) + "/part-" + std::to_string(job_.rank);
  static const std::string block(1 << 16, 'x');
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  bool written = fd >= 0;
  for (int i = 0; written && i < 8; ++i)
    written = write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size());
  if (fd >= 0) close(fd);
  if (written) return;
  fprintf(stderr, "rank %d: cannot write %s: %s\n", job_.rank, path.c_str(), strerror(errno));
  job_.Tell(nullptr, "", "process");
  job_.options.seed % 2 ? exit(5) : static_cast<void>(MPI_Abort(MPI_COMM_WORLD, 5));
}

// Into a pipe that is read slowly.
[[gnu::noinline]] void Host::WriteSlowly() {
  if (!told_) job_.Tell(nullptr, "", "checkpoint"), told_ = true;
  int ends[2];
  if (pipe(ends) != 0) exit(2);
  Apart([&] {
    close(ends[1]);
    static char block[1 << 14];
    while (read(ends[0], block, sizeof(block)) > 0) Sleep(8);
  });
  close(ends[0]);
  static const std::string data(1 << 19, 'x');
  if (write(ends[1], data.data(), data.size()) < 0) exit(2);
  close(ends[1]);
}
