#include "collector/trace_sink.h"

#include <errno.h>
#include <fmt/format.h>

#include <filesystem>

#include "proto/host_clock.h"

namespace ddbg::collector {
namespace {

constexpr int64_t kRetryNs = 1'000'000'000;
constexpr size_t kMaxPending =
    8u << 20;  // and one frame from the socket on top stays below a trace file's largest chunk

}  // namespace

TraceSink::TraceSink(Node node, Hello hello, std::string hello_chunk, std::function<void()> written,
                     std::function<void(int)> state)
    : node_(node),
      hello_(std::move(hello)),
      hello_chunk_(std::move(hello_chunk)),
      written_(std::move(written)),
      state_(std::move(state)) {
  name_ = "process " + std::to_string(hello_.pid) + " of run " + hello_.run_id;
}

bool TraceSink::full() const { return pending_.bytes.size() > kMaxPending; }

bool TraceSink::Open() {
  last_try_ns_ = HostMonotonicNs();
  Result<std::shared_ptr<RunDir>> run_dir =
      node_.run_dirs.Open(hello_.trace_dir, hello_.run_id, hello_.attempt, hello_.budget_bytes);
  if (!run_dir) {
    Failed(run_dir.error());
    return false;
  }
  run_dir_ = *run_dir;
  Result<RankFile> file = OpenRankFile(run_dir_->path(), hello_, hello_chunk_);
  if (!file) {
    Failed(file.error());
    return false;
  }
  file_.emplace(std::move(*file));
  name_ = std::filesystem::path(file_->writer.path()).filename().string();
  if (file_->writer.cut_bytes() != 0) {
    node_.log->warn("{}: cut {} bytes of an unfinished frame off its end", name_, file_->writer.cut_bytes());
  }
  return true;
}

bool TraceSink::Flush() {
  if (pending_.bytes.empty()) return true;
  if (!writable() && HostMonotonicNs() - last_try_ns_ < kRetryNs) return false;
  return FlushNow();
}

bool TraceSink::FlushNow() {
  if (pending_.bytes.empty()) return true;
  if (!file_ && !Open()) return false;
  last_try_ns_ = HostMonotonicNs();
  bool recovers = failing_since_ns_ != 0;
  size_t size = pending_.bytes.size();
  double seconds = static_cast<double>(last_try_ns_ - failing_since_ns_) * 1e-9;
  std::string recovery = fmt::format("the file can be written again after {:.1f} s", seconds);
  if (recovers) AppendNote(NoteKind::kDiskResumed, recovery, &pending_.bytes);
  Result<void> done = file_->writer.Append(pending_.bytes, pending_.t_min, pending_.t_max);
  if (!done) {
    pending_.bytes.resize(size);
    Failed(done.error());
    return false;
  }
  records_ += pending_.records;
  pending_.Clear();
  written_();
  if (recovers) Recovered(recovery);
  TurnOverIfLarge();
  return true;
}

void TraceSink::TurnOverIfLarge() {
  uint64_t bytes = file_->writer.bytes(), most = PartBytes(hello_.budget_bytes);
  if (most == 0 || bytes < most) return;
  std::string path = file_->writer.path();
  file_.reset();
  Result<void> made = MakePart(path);
  if (made) {
    part_bytes_ += bytes;
    node_.budgets.Look(path, hello_.budget_bytes);
  } else {
    node_.log->warn("{}: it grows beyond its part of the budget: {}", name_, made.error().text);
  }
  Open();
}

void TraceSink::Failed(const Error& error) {
  if (failing_since_ns_ != 0) return;
  failing_since_ns_ = HostMonotonicNs();
  state_(error.code != 0 ? error.code : EIO);
  node_.log->error(
      "{}: {} The process runs on; once shared memory is full, what it does is counted as lost until the "
      "file can be written.",
      name_, error.text);
  AppendNote(NoteKind::kDiskFull, error.text, &pending_.bytes);
  NoteForNode(NoteKind::kDiskFull, name_ + ": " + error.text);
}

void TraceSink::Recovered(const std::string& text) {
  failing_since_ns_ = 0;
  state_(0);
  node_.log->info("{}: {}", name_, text);
  NoteForNode(NoteKind::kDiskResumed, name_ + ": " + text);
}

void TraceSink::NoteForNode(NoteKind kind, std::string_view text) {
  if (run_dir_ != nullptr) run_dir_->Note(kind, text);
}

}  // namespace ddbg::collector
