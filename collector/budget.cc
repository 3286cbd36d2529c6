#include "collector/budget.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "collector/digest.h"
#include "proto/process_files.h"
#include "proto/trace_reader.h"
#include "proto/trace_writer.h"

namespace ddbg::collector {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kParts = 8;  // a budget is about so many
constexpr uint64_t kSmallestPart = 16 << 10;
constexpr std::chrono::seconds kFinishWithin{5};

struct Files {
  std::vector<std::string> parts;  // oldest first
  uint32_t last_part = 0;
  bool has_kept = false;
  uint64_t bytes = 0;  // of parts and digest
};

Files Look(const std::string& stem) {
  Files files;
  std::vector<std::pair<uint32_t, std::string>> parts;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(stem).parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    std::string path = entry->path();
    ProcessFile file = ToProcessFile(path);
    if (file.stem != stem || file.role == ProcessFile::kCurrent) continue;
    std::error_code gone;
    uint64_t size = entry->file_size(gone);
    files.bytes += gone ? 0 : size;
    files.has_kept = files.has_kept || file.role == ProcessFile::kKept;
    if (file.role == ProcessFile::kPart) parts.emplace_back(file.part, path);
  }
  std::sort(parts.begin(), parts.end());
  for (auto& [number, path] : parts) files.parts.push_back(std::move(path));
  if (!parts.empty()) files.last_part = parts.back().first;
  return files;
}

Result<void> Read(const std::string& path, const std::atomic<bool>& stop, Digest* digest) {
  Result<TraceReader> reader = TraceReader::Open(path);
  if (!reader) return reader.error();
  TraceChunk chunk;
  while (!stop.load(std::memory_order_relaxed) && reader->Next(&chunk)) digest->Add(chunk.bytes);
  return {};
}

// Under another name first: a digest is there whole or not at all.
Result<void> Write(const std::string& path, const Digest& digest) {
  std::string unfinished = path + ".new";
  unlink(unfinished.c_str());
  {
    std::optional<TraceWriter> writer;
    Result<void> done = digest.Write([&](std::string_view chunk, int64_t t_min, int64_t t_max) -> Result<void> {
      if (writer) return writer->Append(chunk, t_min, t_max);
      Result<TraceWriter> created = TraceWriter::Create(unfinished, chunk);
      if (!created) return created.error();
      writer.emplace(std::move(*created));
      return {};
    });
    if (!done) {
      unlink(unfinished.c_str());
      return done;
    }
  }
  if (rename(unfinished.c_str(), path.c_str()) == 0) return {};
  int code = errno;
  unlink(unfinished.c_str());
  return Error{"Cannot rename " + unfinished + ": " + std::generic_category().message(code) + ".", code};
}

bool IsFull(const Error& error) { return error.code == ENOSPC || error.code == EDQUOT; }

}  // namespace

uint64_t PartBytes(uint64_t budget) { return budget == 0 ? 0 : std::max(budget / kParts, kSmallestPart); }

Result<void> MakePart(const std::string& path) {
  std::string stem = ToProcessFile(path).stem;
  Files files = Look(stem);
  // Numbers are not used again, so that a reader sees by the names that it has missed none.
  std::string part = PartPath(stem, files.last_part + 1);
  if (rename(path.c_str(), part.c_str()) == 0) return {};
  return Error{"Cannot rename " + path + ": " + std::generic_category().message(errno) + ".", errno};
}

Result<void> KeepWithin(const std::string& path, uint64_t budget, const std::atomic<bool>& stop) {
  std::string stem = ToProcessFile(path).stem;
  while (!stop.load(std::memory_order_relaxed)) {
    Files files = Look(stem);
    // The newest part stays: it is what the job did last.
    if (files.parts.size() < 2 || files.bytes + PartBytes(budget) <= budget) return {};
    Digest digest;
    Result<void> done;
    if (files.has_kept) done = Read(KeptPath(stem), stop, &digest);
    if (done) done = Read(files.parts.front(), stop, &digest);
    if (stop.load(std::memory_order_relaxed)) return {};
    if (done) done = Write(KeptPath(stem), digest);
    if (!done && !IsFull(done.error())) return done;
    unlink(files.parts.front().c_str());
    // On a full disk there is room now. Should this fail too, the part is gone without a digest.
    if (!done) done = Write(KeptPath(stem), digest);
    if (!done) return done;
  }
  return {};
}

BudgetKeeper::~BudgetKeeper() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kFinishWithin, [&] { return waiting_.empty() && !working_; });
    stop_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BudgetKeeper::Look(const std::string& path, uint64_t budget) {
  std::lock_guard lock(mutex_);
  bool waits = std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& job) { return job.first == path; });
  if (!waits) waiting_.emplace_back(path, budget);
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  changed_.notify_all();
}

void BudgetKeeper::Run() {
  // It may take as long as it likes; the job should not.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 19);
  for (;;) {
    std::pair<std::string, uint64_t> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_.load(std::memory_order_relaxed) || !waiting_.empty(); });
      if (stop_.load(std::memory_order_relaxed)) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
      working_ = true;
    }
    Result<void> done = KeepWithin(job.first, job.second, stop_);
    {
      std::lock_guard lock(mutex_);
      working_ = false;
    }
    changed_.notify_all();
    if (!done) failed_(job.first + ": older detail could not be dropped: " + done.error().text);
  }
}

}  // namespace ddbg::collector
