// Tells a signal that was sent to our whole process group from one that was sent to us alone. The kernel does not say,
// so a process of ours sits in the group and reports what it gets. A job must not get one signal twice: mpirun takes a
// second SIGINT or SIGTERM for "forcibly terminate".
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

namespace ddbg::analyzer {

class GroupWitness {
 public:
  // Watches for `signals`, which must be blocked. If no process can be made, every signal counts as ours alone.
  explicit GroupWitness(const sigset_t& signals);
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  // True if the group got `signal` about now. Waits up to 50 ms for the witness before it says no.
  bool GroupGot(int signal);

 private:
  struct Report {
    int signal;
    int64_t t_ns;  // CLOCK_MONOTONIC
  };
  [[noreturn]] static void Watch(const sigset_t& signals, pid_t parent, int fd);
  bool Recently(int signal) const;

  pid_t pid_ = -1;
  int fd_ = -1;
  int64_t last_ns_[65] = {};  // by signal
};

}  // namespace ddbg::analyzer
