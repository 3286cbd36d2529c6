#include "analyzer/match/group_witness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/clock_ticks.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kWaitNs = 50'000'000;
constexpr int64_t kSameNs = 250'000'000;  // `timeout` sends to the process and then to its group

// Pipes and terminals of the job must not stay open because of the witness.
void CloseAllBut(int fd) {
  dup2(fd, 0);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 1U, ~0U, 0U) == 0) return;
#endif
  for (int other = 1; other < 4096; ++other) close(other);
}

}  // namespace

// In the child: only what is async-signal-safe.
void GroupWitness::Watch(const sigset_t& signals, pid_t parent, int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  prctl(PR_SET_NAME, "ddbg-witness");
  CloseAllBut(fd);
  for (;;) {
    int signal = sigwaitinfo(&signals, nullptr);
    if (signal <= 0 || signal == SIGCHLD) continue;
    Report report = {signal, MonotonicNs()};
    if (write(0, &report, sizeof(report)) < 0) _exit(0);
  }
}

GroupWitness::GroupWitness(const sigset_t& signals) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) Watch(signals, parent, ends[1]);
  close(ends[1]);
  fd_ = ends[0];
}

GroupWitness::~GroupWitness() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (fd_ >= 0) close(fd_);
}

bool GroupWitness::Recently(int signal) const { return last_ns_[signal] && MonotonicNs() - last_ns_[signal] < kSameNs; }

bool GroupWitness::GroupGot(int signal) {
  if (pid_ < 0 || signal < 1 || signal > 64) return false;
  for (int64_t until = MonotonicNs() + kWaitNs;;) {
    Report report;
    while (read(fd_, &report, sizeof(report)) == sizeof(report)) last_ns_[report.signal] = report.t_ns;
    if (Recently(signal)) return true;
    int64_t left = until - MonotonicNs();
    if (left <= 0) return false;
    pollfd reported = {fd_, POLLIN, 0};
    timespec timeout = {0, left};
    ppoll(&reported, 1, &timeout, nullptr);
  }
}

}  // namespace ddbg::analyzer
