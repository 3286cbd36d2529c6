#include "collector/connection.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>

namespace ddbg::collector {
namespace {

constexpr uint32_t kMaxFrame = 4u << 20;
constexpr size_t kReadBytes = 1u << 20;
constexpr int kReadsPerTurn = 8;  // then the other clients have their turn

// One for all connections: what is read is taken before the next read.
std::vector<char>& ReadBuffer() {
  static std::vector<char> buffer(kReadBytes);
  return buffer;
}

}  // namespace

Connection::Connection(asio::io_context& io, UniqueFd socket, Peer peer, ConnectionOwner* owner)
    : socket_(io, socket.release()), peer_(std::move(peer)), owner_(owner) {}

void Connection::Close() {
  owner_ = nullptr;
  asio::error_code ignored;
  socket_.close(ignored);
  received_fd_ = UniqueFd{};
  std::string().swap(partial_);
}

void Connection::Resume() {
  paused_ = false;
  WaitForBytes();
}

void Connection::Answer(char answer) {
  if (socket_.is_open()) send(socket_.native_handle(), &answer, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Connection::WaitForBytes() {
  if (waiting_ || paused_ || owner_ == nullptr) return;
  waiting_ = true;
  socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const asio::error_code& error) {
                       self->waiting_ = false;
                       if (!error) self->OnReadable();
                     });
}

void Connection::OnReadable() {
  for (int i = 0; i < kReadsPerTurn && owner_ != nullptr && !paused_; ++i) {
    if (ReadOnce() != ReadResult::kBytes) break;
  }
  WaitForBytes();
}

void Connection::ReadAvailable() {
  auto self = shared_from_this();
  while (owner_ != nullptr && !paused_ && ReadOnce() == ReadResult::kBytes) {
  }
}

Connection::ReadResult Connection::ReadOnce() {
  std::vector<char>& buffer = ReadBuffer();
  iovec into{buffer.data(), buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
  msghdr message{};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t size = recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return ReadResult::kNothing;
  if (size <= 0) {
    End("");
    return ReadResult::kEnd;
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
      int fd;
      std::memcpy(&fd, reinterpret_cast<char*>(header) + at, sizeof(fd));
      received_fd_ = UniqueFd{fd};
    }
  }
  Result<void> taken = TakeBytes({buffer.data(), static_cast<size_t>(size)});
  if (taken) return ReadResult::kBytes;
  End(taken.error().text);
  return ReadResult::kEnd;
}

// Whole frames are taken where they lie; only a frame that is cut by the end of a read is copied.
Result<void> Connection::TakeBytes(std::string_view bytes) {
  if (partial_.empty()) {
    Result<void> done = TakeFrames(&bytes);
    partial_ = bytes;
    return done;
  }
  partial_.append(bytes);
  std::string_view rest = partial_;
  Result<void> done = TakeFrames(&rest);
  if (owner_ != nullptr) partial_.erase(0, partial_.size() - rest.size());
  return done;
}

// Takes the frames at the start of `bytes` off it.
Result<void> Connection::TakeFrames(std::string_view* bytes) {
  uint32_t length;
  while (owner_ != nullptr && bytes->size() >= sizeof(length)) {
    std::memcpy(&length, bytes->data(), sizeof(length));
    if (length == 0 || length > kMaxFrame) {
      return Error{"a frame of " + std::to_string(length) + " bytes", 0};
    }
    if (bytes->size() - sizeof(length) < length) break;
    std::string_view frame = bytes->substr(sizeof(length), length);
    *bytes = bytes->substr(sizeof(length) + length);
    Result<void> done = owner_->OnFrame(*this, frame);
    if (!done) return done;
  }
  return {};
}

void Connection::End(const std::string& fault) {
  ConnectionOwner* owner = owner_;
  auto self = shared_from_this();
  Close();
  if (owner != nullptr) owner->OnClosed(*this, fault);
}

}  // namespace ddbg::collector
