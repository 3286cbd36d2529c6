#include "collector/rank_file.h"

#include <errno.h>
#include <fmt/format.h>

#include "collector/run_dir.h"
#include "proto/trace_reader.h"

namespace ddbg::collector {
namespace {

constexpr int kMaxSuffix = 1000;

// The name to try at the n-th attempt, from 0.
std::string FileName(const Hello& hello, int n) {
  if (hello.rank >= 0 && n == 0) return fmt::format("rank-{:05}.ddbg", hello.rank);
  int suffix = hello.rank >= 0 ? n : n + 1;
  std::string process = fmt::format("proc-{}-{}", PathComponent(hello.host), hello.pid);
  return suffix == 1 ? process + ".ddbg" : fmt::format("{}-{}.ddbg", process, suffix);
}

bool IsFileOf(const std::string& path, const Hello& hello) {
  Result<TraceReader> reader = TraceReader::Open(path);
  TraceChunk first;
  if (!reader || !reader->Next(&first)) return false;
  Result<Hello> owner = ReadHello(first.bytes);
  return owner && owner->SameProcess(hello);
}

Result<RankFile> Resume(const std::string& path) {
  Result<TraceWriter> writer = TraceWriter::Resume(path);
  if (!writer) return writer.error();
  RankFile file{std::move(*writer), true, {}};
  Result<TraceReader> reader = TraceReader::Open(path);
  TraceChunk last;
  if (reader) reader->SkipToLastFrame();
  if (reader && reader->Next(&last)) file.last_chunk = last.bytes;
  return file;
}

}  // namespace

Result<RankFile> OpenRankFile(const std::string& directory, const Hello& hello, std::string_view hello_chunk) {
  for (int n = 0; n < kMaxSuffix; ++n) {
    std::string path = directory + "/" + FileName(hello, n);
    Result<TraceWriter> writer = TraceWriter::Create(path, hello_chunk);
    if (writer) return RankFile{std::move(*writer), false, {}};
    if (writer.error().code != EEXIST) return writer.error();
    if (IsFileOf(path, hello)) return Resume(path);
  }
  return Error{"There are too many files of one process in " + directory + ".", EEXIST};
}

}  // namespace ddbg::collector
