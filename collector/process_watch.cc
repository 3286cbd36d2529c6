#include "collector/process_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <string>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace ddbg::collector {
namespace {

// From <linux/pidfd.h> of Linux 6.15, which the build machine may not have. The first 64 bytes are fixed ("VER0").
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroupid;
  uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  int32_t exit_code;  // a wait(2) status word
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kPidfdInfoExit = 1u << 3;
#define DDBG_PIDFD_GET_INFO _IOWR(0xFF, 11, PidfdInfo)

// The process that a socket came from, without the race on its pid that pidfd_open has (Linux 6.5 and later).
int PidfdOfPeer(int socket, pid_t pid) {
  int pidfd = -1;
  socklen_t size = sizeof(pidfd);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) return pidfd;
  return pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1;
}

// The state and some fields of /proc/PID/stat, counted after the command name, which may hold anything.
struct StatLine {
  char state;
  uint64_t flags;       // field 9, PF_*
  uint64_t start_time;  // field 22
  uint64_t pending;     // field 31: the main thread's own pending signals, bit N - 1
  int exit_code;        // field 52
};

std::optional<StatLine> ReadStat(pid_t pid) {
  char text[2048];
  std::snprintf(text, sizeof(text), "/proc/%d/stat", pid);
  UniqueFd file{open(text, O_RDONLY | O_CLOEXEC)};
  ssize_t size = file ? read(file.get(), text, sizeof(text) - 1) : -1;
  if (size <= 0) return std::nullopt;
  text[size] = '\0';
  char* at = std::strrchr(text, ')');
  if (at == nullptr || std::strlen(at) < 3) return std::nullopt;
  StatLine line{at[2], 0, 0, 0, 0};
  int field = 2;
  for (char* next = std::strtok(at + 1, " \n"); next != nullptr; next = std::strtok(nullptr, " \n")) {
    if (++field == 9) line.flags = std::strtoull(next, nullptr, 10);
    if (field == 22) line.start_time = std::strtoull(next, nullptr, 10);
    if (field == 31) line.pending = std::strtoull(next, nullptr, 10);
    if (field == 52) line.exit_code = std::atoi(next);
  }
  if (field < 52) return std::nullopt;
  return line;
}

}  // namespace

std::optional<Peer> Peer::Of(int socket) {
  ucred credentials;
  socklen_t size = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  return Peer{credentials.pid, credentials.uid, UniqueFd{PidfdOfPeer(socket, credentials.pid)}};
}

ProcessEnding EndingFromStatus(int status, const char* source) {
  using How = ProcessEnding::How;
  if (WIFSIGNALED(status)) return {How::kSignaled, WTERMSIG(status), WCOREDUMP(status) != 0, source};
  return {How::kExited, WEXITSTATUS(status), false, source};
}

ProcessWatch::ProcessWatch(asio::io_context& io, Peer peer) : pid_(peer.pid), pidfd_(io) {
  if (peer.pidfd) pidfd_.assign(peer.pidfd.release());
  if (std::optional<StatLine> line = ReadStat(pid_)) start_time_ = line->start_time;
}

void ProcessWatch::OnEnd(std::function<void()> ended) {
  if (!pidfd_.is_open()) return;
  pidfd_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [ended = std::move(ended)](const asio::error_code& error) {
                      if (!error) ended();
                    });
}

bool ProcessWatch::IsRunning() const {
  if (!pidfd_.is_open()) return false;
  pollfd poll_pidfd{const_cast<asio::posix::stream_descriptor&>(pidfd_).native_handle(), POLLIN, 0};
  return poll(&poll_pidfd, 1, 0) == 0;
}

// A signal that ends a process makes the kernel put SIGKILL on each of its threads at once.
bool ProcessWatch::IsUnharmed() const {
  constexpr uint64_t kExiting = 4;  // PF_EXITING
  if (pid_ <= 0) return false;
  std::optional<StatLine> line = ReadStat(pid_);
  return line && line->start_time == start_time_ && line->state != 'Z' && line->state != 'X' &&
         (line->flags & kExiting) == 0 && (line->pending & (1u << (SIGKILL - 1))) == 0;
}

std::optional<ProcessEnding> ProcessWatch::Ending() const {
  if (std::optional<int> status = StatusFromPidfd()) return EndingFromStatus(*status, "pidfd");
  if (std::optional<int> status = StatusOfZombie()) return EndingFromStatus(*status, "zombie");
  return std::nullopt;
}

std::optional<int> ProcessWatch::StatusFromPidfd() const {
  if (!pidfd_.is_open()) return std::nullopt;
  PidfdInfo info{};
  info.mask = kPidfdInfoExit;
  int fd = const_cast<asio::posix::stream_descriptor&>(pidfd_).native_handle();
  if (ioctl(fd, DDBG_PIDFD_GET_INFO, &info) != 0 || (info.mask & kPidfdInfoExit) == 0) return std::nullopt;
  return info.exit_code;
}

std::optional<int> ProcessWatch::StatusOfZombie() const {
  if (pid_ <= 0) return std::nullopt;
  std::optional<StatLine> line = ReadStat(pid_);
  if (!line || line->state != 'Z' || line->start_time != start_time_) return std::nullopt;
  return line->exit_code;
}

}  // namespace ddbg::collector
