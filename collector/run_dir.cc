#include "collector/run_dir.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

namespace ddbg::collector {
namespace {

constexpr size_t kMaxComponent = 128;
constexpr size_t kMaxUnwritten = 64 << 10;

Error SystemError(const std::string& what, int code) {
  return Error{what + ": " + std::generic_category().message(code) + ".", code};
}

// Makes `path` and what is missing above it. True if the last component is new.
Result<bool> MakeDirectories(const std::string& path) {
  bool made = false;
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    made = mkdir(part.c_str(), 0755) == 0;
    if (!made && errno != EEXIST) {
      int code = errno;
      struct stat found;
      // A read-only or automounted parent may answer anything but EEXIST for what is there.
      if (stat(part.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return SystemError("Cannot make " + part, code);
    }
    if (slash == std::string::npos) return made;
  }
}

// Atomic: readers see the old or the new target. A `latest` that is no link is left alone by rename's own rules.
void PointLatestAt(const std::string& trace_dir, const std::string& run) {
  std::string fresh = trace_dir + "/.latest." + std::to_string(getpid());
  unlink(fresh.c_str());
  if (symlink(run.c_str(), fresh.c_str()) != 0) return;
  if (rename(fresh.c_str(), (trace_dir + "/latest").c_str()) != 0) unlink(fresh.c_str());
}

}  // namespace

std::string PathComponent(const std::string& name) {
  std::string component = name.substr(0, kMaxComponent);
  for (char& letter : component) {
    if (letter == '/' || static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = '_';
  }
  if (component.empty()) return "unnamed";
  if (component[0] == '.') component[0] = '_';
  if (component == "latest") return "_latest";
  return component;
}

void RunDir::Note(NoteKind kind, std::string_view text) {
  AppendNote(kind, text, &unwritten_);
  bool written = node_file_ && node_file_->Append(unwritten_, 0, 0);
  if (written || unwritten_.size() > kMaxUnwritten) unwritten_.clear();
}

void RunDir::Append(std::string_view packets, int64_t t_min, int64_t t_max) {
  if (!node_file_) return;
  if (node_file_->Append(packets, t_min, t_max)) TurnOverIfLarge();
}

// As a process's file does (TraceSink).
void RunDir::TurnOverIfLarge() {
  uint64_t most = PartBytes(budget_);
  if (most == 0 || node_file_->bytes() < most) return;
  std::string path = node_file_->path();
  node_file_.reset();
  if (MakePart(path)) budgets_->Look(path, budget_);
  Result<TraceWriter> next = TraceWriter::Create(path, node_process_);
  if (!next) next = TraceWriter::Resume(path);
  if (next) node_file_ = std::move(*next);
}

Result<TraceWriter> RunDirs::OpenNodeFile(const std::string& directory, const std::string& process) {
  std::string base = directory + "/node-" + PathComponent(host_);
  std::string path = base + ".ddbg";
  Result<TraceWriter> writer = TraceWriter::Create(path, process);
  if (!writer && writer.error().code == EEXIST) {
    writer = TraceWriter::Resume(path);
    if (!writer) {  // another collector of a host with this name, or not a trace
      writer = TraceWriter::Create(base + "-" + std::to_string(getpid()) + ".ddbg", process);
    }
  }
  return writer;
}

Result<std::shared_ptr<RunDir>> RunDirs::Open(const std::string& trace_dir, const std::string& run_id, uint32_t attempt,
                                              uint64_t budget) {
  std::string run = PathComponent(run_id);
  std::string path = trace_dir + "/" + run + "/a" + std::to_string(attempt);
  std::weak_ptr<RunDir>& known = open_[path];
  if (std::shared_ptr<RunDir> open = known.lock()) return open;

  Result<bool> made = MakeDirectories(path);
  if (!made) return made.error();
  if (*made) PointLatestAt(trace_dir, run);
  std::string process;
  AppendOwnProcess({run_id, attempt, host_, trace_dir}, &process);
  Result<TraceWriter> node_file = OpenNodeFile(path, process);
  if (!node_file) return node_file.error();
  auto run_dir = std::make_shared<RunDir>(path, std::move(*node_file),
                                          log_.AddFile(path + "/collector-" + PathComponent(host_) + ".log"),
                                          std::move(process), budget, &budgets_);
  known = run_dir;
  run_dir->Note(NoteKind::kCollectorStarted, "ddbg-collector " DDBG_VERSION ", pid " + std::to_string(getpid()));
  return run_dir;
}

void RunDirs::NoteAll(NoteKind kind, std::string_view text) {
  for (auto& [path, known] : open_) {
    if (std::shared_ptr<RunDir> open = known.lock()) open->Note(kind, text);
  }
}

void RunDirs::AppendToAll(std::string_view packets, int64_t t_min, int64_t t_max) {
  for (auto& [path, known] : open_) {
    if (std::shared_ptr<RunDir> open = known.lock()) open->Append(packets, t_min, t_max);
  }
}

std::vector<std::string> RunDirs::OpenPaths() const {
  std::vector<std::string> paths;
  for (const auto& [path, known] : open_)
    if (!known.expired()) paths.push_back(path);
  return paths;
}

}  // namespace ddbg::collector
