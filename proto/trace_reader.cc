#include "proto/trace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <memory>
#include <system_error>

namespace ddbg {
namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_DCtx* DecompressionContext() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> context{ZSTD_createDCtx()};
  return context.get();
}

// False also if the file ends before: it may be cut while it is read.
bool ReadAt(int fd, uint64_t offset, void* out, size_t size) {
  auto* at = static_cast<char*>(out);
  while (size > 0) {
    ssize_t n = pread(fd, at, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

TraceReader& TraceReader::operator=(TraceReader&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(name_, other.name_);
  std::swap(position_, other.position_);
  std::swap(frames_, other.frames_);
  std::swap(stopped_, other.stopped_);
  std::swap(damage_, other.damage_);
  std::swap(payload_, other.payload_);
  std::swap(chunk_, other.chunk_);
  return *this;
}

TraceReader::~TraceReader() {
  if (fd_ >= 0) close(fd_);
}

Result<TraceReader> TraceReader::Open(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // of a FIFO there is nobody to wait for
  if (fd < 0) {
    int code = errno;
    return Error{"Cannot read " + path + ": " + std::generic_category().message(code) + ".", code};
  }
  return FromFd(fd, path);
}

Result<TraceReader> TraceReader::FromFd(int fd, std::string name) {
  TraceReader reader{fd, std::move(name)};
  Result<void> done = reader.ReadFileHeader();
  if (!done) return done.error();
  return reader;
}

Result<void> TraceReader::ReadFileHeader() {
  struct stat file;
  if (fstat(fd_, &file) != 0 || !S_ISREG(file.st_mode)) {
    return Error{name_ + " is not a file; give a run directory or a *.ddbg file.", EINVAL};
  }
  if (file.st_size == 0) {
    return Error{name_ + " is empty: its collector ended before it wrote anything; leave this file out.", 0};
  }
  TraceFileHeader header{};
  size_t size = std::min(sizeof(header), static_cast<size_t>(file.st_size));
  if (!ReadAt(fd_, 0, &header, size)) {
    return Error{"Cannot read " + name_ + ": " + std::generic_category().message(EIO) + "; is its disk well?", EIO};
  }
  if (std::memcmp(header.magic, kTraceMagic, std::min(size, sizeof(header.magic))) != 0) {
    return Error{name_ + " is not a ddbg trace; give a run directory or a *.ddbg file.", 0};
  }
  if (size < sizeof(header)) {
    return Error{name_ + " is cut off within its header and holds nothing; leave this file out.", 0};
  }
  if (header.version == 0 || header.version > kTraceVersion) {
    return Error{name_ + " has trace format " + std::to_string(header.version) + " and this ddbg reads up to " +
                     std::to_string(kTraceVersion) + "; read it with the ddbg that recorded it, or a newer one.",
                 0};
  }
  if (header.features != kKnownFeatures) {  // all there are so far, and none can be done without
    return Error{name_ + " uses features of the trace format that this ddbg does not know; read it with the ddbg " +
                     "that recorded it, or a newer one.",
                 0};
  }
  position_ = sizeof(header);
  return {};
}

uint64_t TraceReader::Available() const {
  struct stat file;
  if (fstat(fd_, &file) != 0 || static_cast<uint64_t>(file.st_size) < position_) return 0;
  return static_cast<uint64_t>(file.st_size) - position_;
}

std::string TraceReader::WhichFrame() const {
  return "frame " + std::to_string(frames_ + 1) + " at byte " + std::to_string(position_);
}

bool TraceReader::LooksLikeFrameOrEnd(uint64_t offset) const {
  uint64_t available = Available() + position_ - offset;
  if (available == 0) return true;
  FrameHeader header;
  return available >= sizeof(header) && ReadAt(fd_, offset, &header, sizeof(header)) &&
         FrameIsWhole(header, available) && header.pad == 0 && header.type != 0 && header.t_min <= header.t_max;
}

// Reads the frame at position_ into payload_. The position stays.
TraceReader::Frame TraceReader::ReadFrame(FrameHeader* header) {
  uint64_t available = Available();
  if (available < sizeof(*header) || !ReadAt(fd_, position_, header, sizeof(*header))) return Frame::kNone;
  if (!FrameIsWhole(*header, available)) return Frame::kNone;
  payload_.resize(header->length);
  if (!ReadAt(fd_, position_ + sizeof(*header), payload_.data(), payload_.size())) return Frame::kNone;
  bool intact = header->pad == 0 && FrameCrc(*header, {payload_.data(), payload_.size()}) == header->crc;
  return intact ? Frame::kWhole : Frame::kDamaged;
}

bool TraceReader::Decompress(TraceChunk* chunk) {
  unsigned long long size = ZSTD_getFrameContentSize(payload_.data(), payload_.size());
  if (size > kMaxChunkBytes) return false;  // unknown and error are larger than anything
  chunk_.resize(size);
  size_t got =
      ZSTD_decompressDCtx(DecompressionContext(), chunk_.data(), chunk_.size(), payload_.data(), payload_.size());
  if (got != size) return false;
  chunk->bytes = {chunk_.data(), chunk_.size()};
  return true;
}

bool TraceReader::Next(TraceChunk* chunk) {
  while (!stopped_) {
    FrameHeader header;
    Frame frame = ReadFrame(&header);
    if (frame == Frame::kNone) return false;
    uint64_t next = position_ + sizeof(header) + header.length;
    if (frame == Frame::kDamaged && !LooksLikeFrameOrEnd(next)) {
      stopped_ = true;
      return false;
    }
    bool usable = frame == Frame::kWhole && header.type == kChunkFrame && Decompress(chunk);
    if (!usable && (frame == Frame::kDamaged || header.type == kChunkFrame)) {
      damage_.push_back(name_ + ": " + WhichFrame() + " is damaged; its " + std::to_string(header.length) +
                        " bytes are left out.");
    }
    position_ = next;
    ++frames_;
    if (!usable) continue;
    chunk->t_min = header.t_min;
    chunk->t_max = header.t_max;
    return true;
  }
  return false;
}

void TraceReader::GoTo(uint64_t position, uint64_t frames) {
  position_ = position;
  frames_ = frames;
}

bool TraceReader::Glance(FrameHeader* header) {
  uint64_t available = Available();
  if (available < sizeof(*header) || !ReadAt(fd_, position_, header, sizeof(*header)) ||
      !FrameIsWhole(*header, available))
    return false;
  position_ += sizeof(*header) + header->length;
  ++frames_;
  return true;
}

uint64_t TraceReader::size() const {
  struct stat file;
  return fstat(fd_, &file) == 0 ? static_cast<uint64_t>(file.st_size) : 0;
}

ino_t TraceReader::inode() const {
  struct stat file;
  return fstat(fd_, &file) == 0 ? file.st_ino : 0;
}

void TraceReader::SkipToLastFrame() {
  uint64_t at = position_;
  uint64_t end = position_ + Available();
  FrameHeader header;
  while (end - at >= sizeof(header) && ReadAt(fd_, at, &header, sizeof(header)) && FrameIsWhole(header, end - at)) {
    if (at != position_) ++frames_;
    position_ = at;
    at += sizeof(header) + header.length;
  }
}

std::vector<std::string> TraceReader::Damage() const {
  std::vector<std::string> all = damage_;
  uint64_t rest = Available();
  if (stopped_) {
    all.push_back(name_ + ": " + WhichFrame() + " is damaged and does not lead to another; the last " +
                  std::to_string(rest) + " bytes are not read.");
  } else if (rest != 0) {
    all.push_back(name_ + ": truncated after frame " + std::to_string(frames_) + " at byte " +
                  std::to_string(position_) + ": the last " + std::to_string(rest) + " bytes are not a whole frame.");
  }
  return all;
}

}  // namespace ddbg
