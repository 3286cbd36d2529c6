// A traced process, for tests of the collector: a child that has a region and a connection and does what the test says.
// The test writes into the region itself, since it is shared.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "proto/batch_encoder.h"
#include "proto/clock_ticks.h"
#include "proto/ddbg.pb.h"
#include "tests/unit/collector_process.h"
#include "tests/unit/fake_region.h"

namespace ddbg {

class FakeProcess {
 public:
  struct Identity {
    std::string trace_dir;
    int rank = 0;
    std::string run_id = "run";
    std::string host = "host";
    uint32_t attempt = 0;
  };

  FakeProcess(const std::string& socket, const Identity& identity) : socket_(socket), start_ns_(MonotonicNs()) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      Obey(ends[1]);
    }
    close(ends[1]);
    commands_ = ends[0];
    SetIdentity(identity);
  }
  FakeProcess(const FakeProcess&) = delete;
  FakeProcess& operator=(const FakeProcess&) = delete;
  ~FakeProcess() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Reap();
    }
    close(commands_);
  }

  void SetIdentity(const Identity& identity) {
    proto::Chunk chunk;
    proto::Process* process = chunk.add_packet()->mutable_process();
    process->set_run_id(identity.run_id);
    process->set_attempt_id(identity.attempt);
    process->set_rank(identity.rank);
    process->set_host(identity.host);
    process->set_boot_id("boot");
    process->set_pid(pid_);
    process->set_start_monotonic_ns(start_ns_);
    process->set_trace_dir(identity.trace_dir);
    hello_ = chunk.SerializeAsString();
  }

  pid_t pid() const { return pid_; }
  const FakeRegion& region() const { return region_; }

  // Connects and says who it is. The collector's answer, or 0 if there was none.
  char Connect() { return ConnectWith(hello_, region_.fd()); }

  // The same with any first frame and any descriptor; -1: none.
  char ConnectWith(const std::string& hello, int fd) {
    Command('C', hello);
    SendFd(fd);
    return Reply();
  }

  void SendRaw(const std::string& bytes) {
    Command('S', bytes);
    Reply();
  }
  void SendFrame(const std::string& chunk) {
    uint32_t length = static_cast<uint32_t>(chunk.size());
    SendRaw(std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + chunk);
  }
  void SendChunk(const proto::Chunk& chunk) { SendFrame(chunk.SerializeAsString()); }

  // Sends what is published in a lane and not sent, up to `end`.
  void SendLane(uint32_t slot, uint32_t lane, uint64_t end = ~uint64_t{0}) {
    std::atomic<uint64_t>& sent = region_.lane(slot, lane).sent;
    end = std::min(end, region_.head(slot, lane));
    while (sent < end) {
      std::string chunk;
      sent = EncodeLane(region_.region(), slot, lane, sent, end, MakeTickMapper(*region_.region().header()), &chunk);
      SendFrame(chunk);
    }
  }

  // Publishes `count` records whose `count` fields go on from the last ones'.
  void Publish(uint32_t slot, uint32_t lane, int count) {
    for (int i = 0; i < count; ++i) {
      Record record = FakeRegion::Call(static_cast<uint64_t>(MonotonicNs()), 5);
      record.count = published_++;
      region_.Publish(slot, lane, record);
    }
  }
  uint64_t published() const { return published_; }
  uint64_t written(uint32_t slot, uint32_t lane) const { return region_.lane(slot, lane).written.load(); }

  void CloseSocket() {
    Command('X', "");
    Reply();
  }
  // A child of its own that holds all descriptors as long as the test runs or until this object is gone.
  void ForkHolder() {
    Command('F', "");
    Reply();
  }
  // True if the collector has closed the connection.
  bool ConnectionClosed() {
    Command('?', "");
    return Reply() == 'y';
  }

  // From now on it makes calls and sends them, as fast as it can, until it is killed. Nothing else can be asked of it.
  void RunUntilKilled() {
    Command('R', "");
    Reply();
  }

  void Exit(int status) { Command('E', std::string(1, static_cast<char>(status))); }
  void Kill(int number) { kill(pid_, number); }
  void WaitWithoutReaping() const {
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void Reap() {
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  void Command(char what, const std::string& bytes) {
    uint32_t size = static_cast<uint32_t>(bytes.size());
    WriteAll(commands_, &what, 1);
    WriteAll(commands_, &size, sizeof(size));
    WriteAll(commands_, bytes.data(), bytes.size());
  }

  char Reply() {
    char reply = 0;
    return read(commands_, &reply, 1) == 1 ? reply : 0;
  }

  // Carries a descriptor over a socket, with one byte; fd < 0: the byte alone.
  static void SendFdOver(int socket, int fd, const void* bytes, size_t size) {
    iovec part{const_cast<void*>(bytes), size};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fd >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
    }
    if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return;
  }
  void SendFd(int fd) { SendFdOver(commands_, fd, "f", 1); }

  static int ReceiveFd(int socket) {
    char byte;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) _exit(0);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    int fd = -1;
    if (header != nullptr) std::memcpy(&fd, CMSG_DATA(header), sizeof(int));
    return fd;
  }

  static void WriteAll(int fd, const void* bytes, size_t size) {
    auto* at = static_cast<const char*>(bytes);
    while (size > 0) {
      ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
      if (n <= 0) return;
      at += n;
      size -= static_cast<size_t>(n);
    }
  }

  static void ReadAll(int fd, void* bytes, size_t size) {
    auto* at = static_cast<char*>(bytes);
    while (size > 0) {
      ssize_t n = read(fd, at, size);
      if (n <= 0) _exit(0);
      at += n;
      size -= static_cast<size_t>(n);
    }
  }

  // The child's life.
  [[noreturn]] void Obey(int commands) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int number : {SIGSEGV, SIGBUS, SIGABRT}) signal(number, SIG_DFL);  // a sanitizer has handlers
    int connection = -1;
    for (;;) {
      char what;
      uint32_t size;
      ReadAll(commands, &what, 1);
      ReadAll(commands, &size, sizeof(size));
      std::string bytes(size, '\0');
      ReadAll(commands, bytes.data(), size);
      char reply = 'k';
      if (what == 'R') Run(connection, commands);
      switch (what) {
        case 'C': connection = SayHello(bytes, ReceiveFd(commands), &reply); break;
        case 'S': WriteAll(connection, bytes.data(), bytes.size()); break;
        case 'X': close(connection); break;
        case 'F': Fork(commands); break;
        case '?': reply = IsClosed(connection) ? 'y' : 'n'; break;
        case 'E': _exit(static_cast<unsigned char>(bytes[0]));
      }
      WriteAll(commands, &reply, 1);
    }
  }

  [[noreturn]] void Run(int connection, int commands) {
    WriteAll(commands, "k", 1);
    uint64_t sent = 0;
    TickMapper mapper = MakeTickMapper(*region_.region().header());
    for (uint64_t i = 0;; ++i) {
      LaneState& lane = region_.lane(0, kVitalLane);
      while (lane.head - lane.written >= kLaneCells[kVitalLane]) {
      }
      Record call = FakeRegion::Call(static_cast<uint64_t>(MonotonicNs()), 0, kFirstCall);
      call.count = i;
      region_.Enter(0, call);
      call.duration = 1;
      region_.Publish(0, kVitalLane, call);
      region_.Leave(0);
      if (i % 100 != 0) continue;
      std::string chunk(sizeof(uint32_t), '\0');
      sent = EncodeLane(region_.region(), 0, kVitalLane, sent, lane.head, mapper, &chunk);
      uint32_t length = static_cast<uint32_t>(chunk.size() - sizeof(length));
      std::memcpy(chunk.data(), &length, sizeof(length));
      WriteAll(connection, chunk.data(), chunk.size());
    }
  }

  int SayHello(const std::string& hello, int fd, char* answer) {
    *answer = 0;
    int connection = ConnectTo(socket_);
    if (connection < 0) return -1;
    uint32_t length = static_cast<uint32_t>(hello.size());
    SendFdOver(connection, fd, &length, sizeof(length));
    close(fd);
    WriteAll(connection, hello.data(), hello.size());
    if (read(connection, answer, 1) != 1) *answer = 0;
    return connection;
  }

  static void Fork(int commands) {
    if (fork() != 0) return;
    char ignored;
    while (read(commands, &ignored, 1) > 0) {
    }
    _exit(0);
  }

  static bool IsClosed(int connection) {
    pollfd state{connection, POLLIN, 0};
    char byte;
    return poll(&state, 1, 0) == 1 && recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
  }

  std::string socket_;
  int64_t start_ns_;
  FakeRegion region_;
  pid_t pid_ = 0;
  int commands_ = -1;
  std::string hello_;
  uint64_t published_ = 0;
};

}  // namespace ddbg
