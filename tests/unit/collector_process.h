// A ddbg-collector as a child of the test. DDBG_COLLECTOR_PATH is its executable, given by the build.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/wait_until.h"

namespace ddbg {

// A new connection to a Unix socket, or -1.
inline int ConnectTo(const std::string& socket_path) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof(address.sun_path) - 1);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

class CollectorProcess {
 public:
  // Starts it in the foreground on `socket`.
  explicit CollectorProcess(const std::string& socket, std::vector<std::string> more = {}) : socket_(socket) {
    std::vector<std::string> words = {"ddbg-collector", "--foreground", "--socket", socket, "--idle-seconds", "60"};
    words.insert(words.end(), more.begin(), more.end());
    Spawn(words);
  }

  // Starts it with these words only.
  CollectorProcess(const std::string& socket, const std::vector<std::string>& words, bool) : socket_(socket) {
    Spawn(words);
  }

  CollectorProcess(const CollectorProcess&) = delete;
  CollectorProcess& operator=(const CollectorProcess&) = delete;
  ~CollectorProcess() {
    if (pid_ > 0) {
      kill(pid_, SIGTERM);
      int status = Wait();
      EXPECT_EQ(status, 0) << Said();
      if (status == -1) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
      }
    }
    close(stderr_);
  }

  // True once it accepts connections.
  bool Listens() const {
    return WaitUntil([&] {
      int fd = ConnectTo(socket_);
      if (fd < 0) return false;
      close(fd);
      return true;
    });
  }

  pid_t pid() const { return pid_; }
  bool Running() { return pid_ > 0 && !Ended(); }
  void Signal(int number) const { kill(pid_, number); }

  // Its exit status, or 128 + the signal that ended it; -1 if it does not end.
  int Wait() {
    if (!WaitUntil([&] { return Ended(); })) return -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

  // What it has said on stderr so far.
  std::string Said() const {
    std::string text(1 << 16, '\0');
    ssize_t size = pread(stderr_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return text;
  }

 private:
  void Spawn(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, stderr_, 2);
    if (posix_spawn(&pid_, DDBG_COLLECTOR_PATH, &actions, nullptr, arguments.data(), environ) != 0) abort();
    posix_spawn_file_actions_destroy(&actions);
  }

  bool Ended() {
    if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
  }

  std::string socket_;
  int stderr_ = memfd_create("stderr", MFD_CLOEXEC);
  pid_t pid_ = 0;
  int status_ = 0;
};

}  // namespace ddbg
