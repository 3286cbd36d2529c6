#include "proto/trace_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <memory>
#include <system_error>

#include "proto/trace_format.h"

namespace ddbg {
namespace {

constexpr int kCompressionLevel = 1;

Error SystemError(const std::string& what, int code) {
  return Error{what + ": " + std::generic_category().message(code) + ".", code};
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// About a megabyte, so one for all files of a thread.
ZSTD_CCtx* CompressionContext() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context{ZSTD_createCCtx()};
  return context.get();
}

// Appends a whole frame to `out`.
Result<void> AppendFrame(std::string_view chunk, int64_t t_min, int64_t t_max, std::string* out) {
  if (chunk.size() > kMaxChunkBytes) {
    return Error{"A chunk of " + std::to_string(chunk.size()) + " bytes is larger than a frame may be.", EFBIG};
  }
  size_t at = out->size();
  size_t bound = ZSTD_compressBound(chunk.size());
  out->resize(at + sizeof(FrameHeader) + bound);
  char* payload = out->data() + at + sizeof(FrameHeader);
  size_t length =
      ZSTD_compressCCtx(CompressionContext(), payload, bound, chunk.data(), chunk.size(), kCompressionLevel);
  if (ZSTD_isError(length) || length > kMaxFramePayload) {
    out->resize(at);
    return Error{"A chunk of " + std::to_string(chunk.size()) + " bytes could not be compressed.", ENOMEM};
  }
  FrameHeader header{static_cast<uint32_t>(length), kChunkFrame, 0, 0, t_min, t_max};
  header.crc = FrameCrc(header, {payload, length});
  std::memcpy(out->data() + at, &header, sizeof(header));
  out->resize(at + sizeof(header) + length);
  return {};
}

bool ReadAt(int fd, uint64_t offset, void* out, size_t size) {
  return pread(fd, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

}  // namespace

TraceWriter& TraceWriter::operator=(TraceWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  std::swap(cut_bytes_, other.cut_bytes_);
  return *this;
}

TraceWriter::~TraceWriter() {
  if (fd_ >= 0) close(fd_);
}

Result<TraceWriter> TraceWriter::Create(const std::string& path, std::string_view first_chunk) {
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return SystemError("Cannot create " + path, errno);
  TraceWriter writer{path, fd};
  TraceFileHeader header{{}, kTraceVersion, kFeatureZstd};
  std::memcpy(header.magic, kTraceMagic, sizeof(header.magic));
  std::string bytes{reinterpret_cast<const char*>(&header), sizeof(header)};
  Result<void> done = writer.Lock();
  if (done) done = AppendFrame(first_chunk, 0, 0, &bytes);
  if (done) done = writer.Write(bytes);
  if (!done) {
    unlink(path.c_str());  // ours: O_EXCL made it, and there is nothing in it
    return done.error();
  }
  return writer;
}

Result<TraceWriter> TraceWriter::Resume(const std::string& path) {
  int fd = open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return SystemError("Cannot open " + path, errno);
  TraceWriter writer{path, fd};
  Result<void> done = writer.Lock();
  if (done) done = writer.FindEnd();
  if (!done) return done.error();
  return writer;
}

// File systems without locks (ENOLCK, EOPNOTSUPP) are taken as they are.
Result<void> TraceWriter::Lock() {
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  return Error{path_ + " is being written by another collector.", EBUSY};
}

// Hops from frame to frame by their lengths. CRCs are the reader's affair: a damaged frame with a sane length has good
// ones behind it.
Result<void> TraceWriter::FindEnd() {
  struct stat file;
  if (fstat(fd_, &file) != 0) return SystemError("Cannot look at " + path_, errno);
  auto size = static_cast<uint64_t>(file.st_size);
  TraceFileHeader header;
  if (size < sizeof(header) || !ReadAt(fd_, 0, &header, sizeof(header)) ||
      std::memcmp(header.magic, kTraceMagic, sizeof(header.magic)) != 0 || header.version != kTraceVersion ||
      header.features != kKnownFeatures) {
    return Error{path_ + " is not a trace file that this collector can go on with.", 0};
  }
  bytes_ = sizeof(header);
  FrameHeader frame;
  while (size - bytes_ >= sizeof(frame) && ReadAt(fd_, bytes_, &frame, sizeof(frame)) &&
         FrameIsWhole(frame, size - bytes_)) {
    bytes_ += sizeof(frame) + frame.length;
  }
  cut_bytes_ = size - bytes_;
  if (cut_bytes_ != 0 && ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) {
    return SystemError("Cannot cut the torn end of " + path_, errno);
  }
  return {};
}

Result<void> TraceWriter::Append(std::string_view chunk, int64_t t_min, int64_t t_max) {
  thread_local std::string frame;  // reused: a frame is a few 100 KiB
  frame.clear();
  Result<void> done = AppendFrame(chunk, t_min, t_max, &frame);
  return done ? Write(frame) : done;
}

Result<void> TraceWriter::Write(std::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = write(fd_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      int code = n < 0 ? errno : EIO;
      // A torn frame must not stay: the next append would stand behind it, out of any reader's reach.
      if (done != 0 && ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) code = EIO;
      return SystemError("Cannot write to " + path_, code);
    }
    done += static_cast<size_t>(n);
  }
  bytes_ += bytes.size();
  return {};
}

}  // namespace ddbg
