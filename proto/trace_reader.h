// Reads the chunks of a trace file (FORMAT.md), also of one that is cut off, damaged, or still being written.
// Any input is safe. One thread a reader.
//
//   Result<TraceReader> reader = TraceReader::Open(path);
//   if (!reader) return reader.error();
//   TraceChunk chunk;
//   while (reader->Next(&chunk)) …
//   for (const std::string& sentence : reader->Damage()) …
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/result.h"
#include "proto/trace_format.h"

namespace ddbg {

// One decompressed frame. `bytes` is protobuf `Chunk`, good until the next call to Next.
struct TraceChunk {
  std::string_view bytes;
  int64_t t_min;  // ns CLOCK_MONOTONIC of the trace's host; both 0: no time in it
  int64_t t_max;
};

class TraceReader {
 public:
  // Fails with one sentence if there is no such file or it is none that this version reads.
  static Result<TraceReader> Open(const std::string& path);

  // The same for an open file, which becomes the reader's own. `name` is for sentences.
  static Result<TraceReader> FromFd(int fd, std::string name);

  TraceReader(TraceReader&& other) noexcept { *this = std::move(other); }
  TraceReader& operator=(TraceReader&& other) noexcept;
  ~TraceReader();

  // The next whole, undamaged chunk; false if there is none. Of a file that grows, a later call may find one.
  bool Next(TraceChunk* chunk);

  // Goes on at a frame's beginning that `position` and `frames` told of before.
  void GoTo(uint64_t position, uint64_t frames);

  // The next frame's time range and bytes, without reading it; goes on behind it. False if there is no whole one.
  bool Glance(FrameHeader* header);

  // Goes on with the last whole frame there is, unread frames before it are passed over unchecked.
  void SkipToLastFrame();

  // What is wrong with what was read so far, a sentence each, in file order. The torn tail of a file that is just being
  // written is among them; it goes away when the frame is complete.
  std::vector<std::string> Damage() const;

  const std::string& name() const { return name_; }
  uint64_t frames() const { return frames_; }      // passed so far, damaged ones too
  uint64_t position() const { return position_; }  // bytes from the start of the file
  uint64_t size() const;                           // bytes of the file now
  ino_t inode() const;                             // of the file, whatever its name is by now

 private:
  enum class Frame { kWhole, kDamaged, kNone };

  TraceReader(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  Result<void> ReadFileHeader();
  Frame ReadFrame(FrameHeader* header);
  bool LooksLikeFrameOrEnd(uint64_t offset) const;
  bool Decompress(TraceChunk* chunk);
  uint64_t Available() const;
  std::string WhichFrame() const;

  int fd_ = -1;
  std::string name_;
  uint64_t position_ = 0;
  uint64_t frames_ = 0;
  bool stopped_ = false;  // damage that nothing can be read behind
  std::vector<std::string> damage_;
  std::vector<char> payload_;
  std::vector<char> chunk_;
};

}  // namespace ddbg
