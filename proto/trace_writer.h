// Appends frames to one trace file (FORMAT.md). One writer a file at a time, held by flock; one thread.
//
// Every append is one write() at the end of the file, so whatever kills the writer leaves whole frames and at most one
// torn tail, which the next Resume cuts. A failed append leaves the file as it was before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "proto/result.h"

namespace ddbg {

class TraceWriter {
 public:
  // Creates `path` with its header and `first_chunk` (the Process packet, alone) as its first frame, in one write.
  // Error codes: EEXIST if there is such a file, ENOSPC, EACCES, … as open and write give them.
  static Result<TraceWriter> Create(const std::string& path, std::string_view first_chunk);

  // Opens an existing file to go on with it, and cuts what is not a whole frame off its end. Error code EBUSY if
  // another process writes to it, 0 if it is not a trace file that this version can go on with.
  static Result<TraceWriter> Resume(const std::string& path);

  TraceWriter(TraceWriter&& other) noexcept { *this = std::move(other); }
  TraceWriter& operator=(TraceWriter&& other) noexcept;
  ~TraceWriter();

  // Compresses `chunk` (at most kMaxChunkBytes of protobuf `Chunk`) and appends it as a frame. t_min, t_max: ns
  // CLOCK_MONOTONIC, both 0 if there is no time in it. Error codes: ENOSPC, EDQUOT, EIO, … as write gives them.
  Result<void> Append(std::string_view chunk, int64_t t_min, int64_t t_max);

  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }          // size of the file
  uint64_t cut_bytes() const { return cut_bytes_; }  // what Resume cut off

 private:
  TraceWriter(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  Result<void> Lock();
  Result<void> FindEnd();
  Result<void> Write(std::string_view bytes);

  std::string path_;
  int fd_ = -1;
  uint64_t bytes_ = 0;
  uint64_t cut_bytes_ = 0;
};

}  // namespace ddbg
