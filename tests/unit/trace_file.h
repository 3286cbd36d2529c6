// Trace files as bytes in memory, for tests that damage them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "proto/trace_reader.h"
#include "proto/trace_writer.h"

namespace ddbg {

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteBytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// The whole content of a file, copied out.
struct ReadTrace {
  struct Chunk {
    std::string bytes;
    int64_t t_min, t_max;
    bool operator==(const Chunk&) const = default;
  };
  std::string refusal;  // not empty: why the file was not read at all
  std::vector<Chunk> chunks;
  std::vector<std::string> damage;
  uint64_t frames = 0;
};

inline ReadTrace DrainReader(Result<TraceReader> reader) {
  ReadTrace read;
  if (!reader) {
    read.refusal = reader.error().text;
    return read;
  }
  TraceChunk chunk;
  while (reader->Next(&chunk)) read.chunks.push_back({std::string(chunk.bytes), chunk.t_min, chunk.t_max});
  read.damage = reader->Damage();
  read.frames = reader->frames();
  return read;
}

inline ReadTrace ReadFile(const std::string& path) { return DrainReader(TraceReader::Open(path)); }

inline ReadTrace ReadFromMemory(std::string_view bytes) {
  int fd = memfd_create("trace", MFD_CLOEXEC);
  if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) abort();
  return DrainReader(TraceReader::FromFd(fd, "trace"));
}

// What is read from `bytes` holds nothing that was not written: its chunks are a subsequence of `written`.
inline bool IsSubsequence(const std::vector<ReadTrace::Chunk>& read, const std::vector<ReadTrace::Chunk>& written) {
  size_t at = 0;
  for (const ReadTrace::Chunk& chunk : read) {
    while (at < written.size() && !(written[at] == chunk)) ++at;
    if (at++ == written.size()) return false;
  }
  return true;
}

}  // namespace ddbg
