#include "shim/recorder/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/clock_ticks.h"
#include "shim/recorder/collector_start.h"
#include "shim/recorder/say.h"

namespace ddbg::shim {
namespace {

constexpr int64_t kStartEveryNs = 1'000'000'000;
constexpr int64_t kLeaveItToLeaderNs = 500'000'000;
constexpr int kAnswerWaitMs = 5000;
constexpr char kAccepted = '1';

bool WaitFor(int fd, short events, int timeout_ms) {
  pollfd p{fd, events, 0};
  return poll(&p, 1, timeout_ms) == 1 && (p.revents & events);
}

}  // namespace

bool Link::Connect(const std::string& hello, int memfd, std::string (*first)()) {
  if (Open() && Handshake(hello, memfd, first)) return true;
  Close();
  StartCollectorIfDue();
  return false;
}

bool Link::Open() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) {
    hopeless_ = true;
    return false;
  }
  memcpy(address.sun_path, socket_.c_str(), socket_.size() + 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    return false;
  }
  socket_file_ = OwnFile::Adopt(fd);
  up_ = socket_file_.fd() >= 0;
  return up_;
}

// The region travels with the first byte of the first frame.
bool Link::Handshake(const std::string& hello, int memfd, std::string (*first)()) {
  uint32_t length = static_cast<uint32_t>(hello.size());
  iovec part{&length, sizeof(length)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &memfd, sizeof(int));
  int fd = socket_file_.fd();
  if (sendmsg(fd, &message, MSG_NOSIGNAL) != sizeof(length)) return false;
  iovec rest{const_cast<char*>(hello.data()), hello.size()};
  // Made afterwards: it may take a while, and the greeting is what nothing can stand in for.
  if (!SendParts(&rest, 1) || !SendFrame(first())) return false;
  char answer = 0;
  if (!WaitFor(fd, POLLIN, kAnswerWaitMs) || read(fd, &answer, 1) != 1) return false;
  hopeless_ = answer != kAccepted;
  if (hopeless_) Say("the collector at %s refused this process; nothing is recorded", socket_.c_str());
  return !hopeless_;
}

bool Link::Send(const std::string& chunk) {
  if (SendFrame(chunk)) return true;
  Close();
  return false;
}

bool Link::SendFrame(const std::string& chunk) {
  uint32_t length = static_cast<uint32_t>(chunk.size());
  // Together: the collector is woken by each.
  iovec parts[2] = {{&length, sizeof(length)}, {const_cast<char*>(chunk.data()), chunk.size()}};
  return SendParts(parts, 2);
}

bool Link::SendParts(iovec* parts, size_t count) {
  while (count > 0) {
    int fd = socket_file_.fd();
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      WaitFor(fd, POLLOUT, 1000);
    } else if (n < 0 && errno != EINTR) {
      return false;
    }
    for (; n > 0 && count > 0;) {
      size_t sent = static_cast<size_t>(n) < parts->iov_len ? static_cast<size_t>(n) : parts->iov_len;
      parts->iov_base = static_cast<char*>(parts->iov_base) + sent;
      parts->iov_len -= sent;
      n -= static_cast<ssize_t>(sent);
      if (parts->iov_len == 0) ++parts, --count;
    }
  }
  return true;
}

void Link::Close() {
  socket_file_.Close();
  up_ = false;
}

void Link::StartCollectorIfDue() {
  if (hopeless_) return;
  int64_t now = MonotonicNs();
  if (first_try_ns_ == 0) first_try_ns_ = now;
  if (!leads_node_ && now - first_try_ns_ < kLeaveItToLeaderNs) return;
  if (started_ns_ && now - started_ns_ < kStartEveryNs) return;
  if (++attempts_ == 3) Say(kNoCollectorAnswers, socket_.c_str());
  started_ns_ = now;
  if (collector_.empty()) {
    hopeless_ = true;
    Say("ddbg-collector was not found beside libddbg.so (set DDBG_COLLECTOR): the job runs on, nothing is recorded");
    return;
  }
  hopeless_ = !StartCollector(collector_, socket_);
  if (hopeless_) Say("%s could not be started; the job runs on, nothing is recorded", collector_.c_str());
}

}  // namespace ddbg::shim
