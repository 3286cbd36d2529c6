// The stream of a socket cut into frames, however the bytes arrive: the same frames as in one piece, up to the first
// one that breaks the rules.
//
//     input = after u8, what u8, pieces u8, then `pieces` sizes u16, then the stream
//     After that many frames the owner pauses (what % 4 == 1), refuses (2) or closes the connection (3).
//     what & 4: each piece comes with descriptors.
#include <fcntl.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "collector/connection.h"
#include "tests/fuzz/input.h"

using namespace ddbg;
using namespace ddbg::fuzz;

namespace {

enum : uint8_t { kPauses = 1, kRefuses = 2, kCloses = 3 };

class Owner final : public collector::ConnectionOwner {
 public:
  Owner(uint8_t after, uint8_t what) : after_(after), what_(what) {}

  Result<void> OnFrame(collector::Connection& connection, std::string_view frame) override {
    Require(!over_);
    frames_.emplace_back(frame);
    if (frames_.size() != after_) return {};
    if (what_ == kPauses) connection.Pause();
    if (what_ == kCloses) connection.Close();
    over_ = what_ == kCloses;
    if (what_ == kRefuses) return Error{"refused", 0};
    return {};
  }

  void OnClosed(collector::Connection&, const std::string& fault) override {
    Require(!over_);
    over_ = true;
    fault_ = fault;
  }

  const std::vector<std::string>& frames() const { return frames_; }
  const std::string& fault() const { return fault_; }
  bool over() const { return over_; }

 private:
  size_t after_;
  uint8_t what_;
  std::vector<std::string> frames_;
  std::string fault_;
  bool over_ = false;
};

struct Expected {
  std::vector<std::string> frames;
  bool fault = false;
};

Expected Split(std::string_view stream, uint8_t after, uint8_t what) {
  Expected expected;
  while (stream.size() >= 4) {
    uint32_t length;
    std::memcpy(&length, stream.data(), sizeof(length));
    expected.fault = length == 0 || length > 4u << 20;
    if (expected.fault || stream.size() - 4 < length) break;
    expected.frames.emplace_back(stream.substr(4, length));
    stream.remove_prefix(4 + length);
    bool last = expected.frames.size() == after && (what == kRefuses || what == kCloses);
    if (last) expected.fault = what == kRefuses;
    if (last) break;
  }
  return expected;
}

// With up to as many descriptors as there is room for, and one more.
void Send(int socket, std::string_view piece, bool with_descriptors) {
  iovec part{const_cast<char*>(piece.data()), piece.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 5)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  static const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  size_t count = piece.size() % 6;
  if (with_descriptors && count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    for (size_t i = 0; i < count; ++i) std::memcpy(CMSG_DATA(header) + i * sizeof(int), &descriptor, sizeof(int));
  }
  sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int CountDescriptors() {
  int lowest = fcntl(0, F_DUPFD_CLOEXEC, 3);
  close(lowest);
  return lowest;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  Input input(bytes, std::min<size_t>(size, 64 << 10));  // more would not fit into the socket
  uint8_t after = input.Byte(), what = input.Byte();
  std::vector<size_t> pieces(input.Byte() % 16);
  for (size_t& piece : pieces) piece = input.Word() + size_t{1};
  std::string_view stream = input.Rest();
  Expected expected = Split(stream, after, what % 4);

  int descriptors = CountDescriptors();
  {
    asio::io_context io;
    int ends[2];
    Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    Owner owner(after, what % 4);
    auto connection =
        std::make_shared<collector::Connection>(io, collector::UniqueFd{ends[0]}, collector::Peer{}, &owner);
    pieces.push_back(stream.size());
    for (size_t piece : pieces) {
      std::string_view part = stream.substr(0, piece);
      stream.remove_prefix(part.size());
      if (!part.empty()) Send(ends[1], part, (what & 4) != 0);
      connection->ReadAvailable();
      io.poll();
    }
    close(ends[1]);
    connection->Resume();
    connection->ReadAvailable();
    Require(owner.frames() == expected.frames);
    Require(owner.over() && owner.fault().empty() != expected.fault);
    connection->Close();
    io.poll();
  }
  Require(CountDescriptors() == descriptors);
  return 0;
}
