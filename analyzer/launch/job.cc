#include "analyzer/launch/job.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "analyzer/launch/program_check.h"
#include "analyzer/match/group_witness.h"
#include "proto/clock_ticks.h"

namespace ddbg::analyzer {
namespace {

sigset_t HandledSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP, SIGCHLD}) {
    sigaddset(&signals, signal);
  }
  return signals;
}

struct SignalState {
  sigset_t mask;
  struct sigaction on_child;
};

// Blocks what is to be handled. An inherited "ignore" for SIGCHLD would take the command's exit code away.
SignalState TakeSignals(const sigset_t& signals) {
  SignalState before;
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  sigprocmask(SIG_BLOCK, &signals, &before.mask);
  sigaction(SIGCHLD, &by_default, &before.on_child);
  return before;
}

// A signal that came together with the command's end is done with; it must not end us before the verdict.
void GiveSignalsBack(const sigset_t& signals, const SignalState& before) {
  timespec none = {0, 0};
  while (sigtimedwait(&signals, nullptr, &none) > 0) {
  }
  sigaction(SIGCHLD, &before.on_child, nullptr);
  sigprocmask(SIG_SETMASK, &before.mask, nullptr);
}

// A program of another machine is no script either. Async-signal-safe.
bool IsElf(const char* path) {
  char magic[4] = {};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, magic, sizeof(magic));
  close(fd);
  return n == 4 && memcmp(magic,
                          "\x7f"
                          "ELF",
                          4) == 0;
}

// In the child, between fork and exec: only what is async-signal-safe.
[[noreturn]] void Exec(const char* file, char* const* argv, char* const* envp, const SignalState& before,
                       int error_pipe) {
  sigaction(SIGCHLD, &before.on_child, nullptr);
  sigprocmask(SIG_SETMASK, &before.mask, nullptr);
  execve(file, argv, envp);
  int error = errno;
  if (error == ENOEXEC && !IsElf(file)) {  // a script without #!: a shell runs it itself
    const char* shell[4096] = {"/bin/sh", file};
    for (size_t i = 1; argv[i] && i < 4094; ++i) shell[i + 1] = argv[i];
    execve(shell[0], const_cast<char* const*>(shell), envp);
  }
  ssize_t ignored = write(error_pipe, &error, sizeof(error));
  (void)ignored;
  _exit(127);
}

// 0, or the errno of exec: the pipe closes by itself when exec succeeds.
int ReadExecError(int fd) {
  int error = 0;
  ssize_t n;
  do {
    n = read(fd, &error, sizeof(error));
  } while (n < 0 && errno == EINTR);
  close(fd);
  return n == sizeof(error) ? error : 0;
}

class Job {
 public:
  Job(pid_t pid, GroupWitness* witness) : pid_(pid), witness_(witness) {}

  void Handle(const siginfo_t& info) {
    int signal = info.si_signo;
    if (signal == SIGCHLD) return;
    // The terminal's have SI_KERNEL and went to the whole group, of which the job is.
    bool from_process = info.si_code <= 0;
    if (from_process && !witness_->GroupGot(signal)) kill(pid_, signal);
    if (signal == SIGTSTP) raise(SIGSTOP);
  }

  // True once the command has ended; `status` as of waitpid.
  bool HasEnded(int* status) const {
    pid_t ended = waitpid(pid_, status, WNOHANG);
    return ended == pid_ || (ended < 0 && errno == ECHILD);
  }

 private:
  pid_t pid_;
  GroupWitness* witness_;
};

int WaitFor(Job job, const sigset_t& signals, int tick_ms, const std::function<void()>& on_tick) {
  int status = 0;
  int64_t next_tick = MonotonicNs() + int64_t{tick_ms} * 1'000'000;
  while (!job.HasEnded(&status)) {
    int64_t left = std::max<int64_t>(next_tick - MonotonicNs(), 0);
    timespec timeout = {left / 1'000'000'000, left % 1'000'000'000};
    siginfo_t info;
    if (sigtimedwait(&signals, &info, &timeout) > 0) job.Handle(info);
    if (MonotonicNs() < next_tick) continue;
    on_tick();
    next_tick = MonotonicNs() + int64_t{tick_ms} * 1'000'000;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

JobEnd NotStarted(const std::string& name, int error) {
  const char* why = error == ENOENT && name.find('/') == name.npos ? "there is no such command" : strerror(error);
  return {error == ENOENT ? 127 : 126, fmt::format("{} cannot be started: {}", name, why)};
}

}  // namespace

JobEnd RunJob(const std::vector<std::string>& command, const Environment& environment, int tick_ms,
              const std::function<void()>& on_tick) {
  std::string file = FindProgram(command[0], environment);
  // Not found as an executable: exec says whether it is missing or may not be run.
  if (file.empty() && command[0].find('/') == std::string::npos) return NotStarted(command[0], ENOENT);
  if (file.empty()) file = command[0];
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp = environment.Pointers();
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) return NotStarted(command[0], errno);

  sigset_t signals = HandledSignals();
  SignalState before = TakeSignals(signals);
  GroupWitness witness(signals);
  pid_t pid = fork();
  if (pid == 0) Exec(file.c_str(), argv.data(), envp.data(), before, error_pipe[1]);
  int fork_error = errno;
  close(error_pipe[1]);
  int exec_error = ReadExecError(error_pipe[0]);
  JobEnd end;
  if (pid < 0) {
    end = NotStarted(command[0], fork_error);
  } else {
    end.exit_code = WaitFor(Job(pid, &witness), signals, tick_ms, on_tick);
    if (exec_error) end = NotStarted(command[0], exec_error);
  }
  GiveSignalsBack(signals, before);
  return end;
}

}  // namespace ddbg::analyzer
