#include "analyzer/load/run_dirs.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace ddbg::analyzer {
namespace {

namespace fs = std::filesystem;

// Entries of `dir` whose name passes `accept`; an unreadable directory has none.
template <typename Accept>
std::vector<std::string> List(const fs::path& dir, Accept&& accept) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(dir, error);
  while (!error && entries != fs::directory_iterator()) {
    std::string name = entries->path().filename();
    if (accept(name)) names.push_back(std::move(name));
    entries.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool IsDirectory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// 3 of "a3".
std::optional<unsigned> AttemptNumber(std::string_view name) {
  if (name.size() < 2 || name[0] != 'a') return std::nullopt;
  unsigned number = 0;
  auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

Result<RunFiles> FilesOfAttempt(const std::string& dir) { return RunFiles{dir, ListTraceFiles(dir)}; }

// Of a run's directory, or of one of its attempts.
Result<RunFiles> FilesOfAttemptNumber(fs::path dir, unsigned attempt) {
  if (!dir.has_filename()) dir = dir.parent_path();  // a slash at its end
  std::string name = fmt::format("a{}", attempt);
  fs::path run_dir = AttemptNumber(dir.filename().string()) ? dir.parent_path() : dir;
  if (IsDirectory(run_dir / name)) {
    RunFiles files{run_dir / name, ListTraceFiles(run_dir / name)};
    if (!files.files.empty()) return files;
    return Error{fmt::format("{} has no trace file", files.dir)};
  }
  std::vector<std::string> there = List(run_dir, [](const std::string& n) { return AttemptNumber(n).has_value(); });
  return Error{fmt::format("{} has no attempt {}; there {}", run_dir.string(), attempt,
                           there.empty() ? "are none" : fmt::format("are {}", fmt::join(there, ", ")))};
}

Result<RunFiles> FilesOfDirectory(const std::string& dir, std::optional<unsigned> attempt) {
  if (attempt) {
    fs::path latest = fs::path(dir) / "latest";
    bool runs = LastAttempt(dir).empty() && IsDirectory(latest);
    return FilesOfAttemptNumber(runs ? latest : fs::path(dir), *attempt);
  }
  if (!ListTraceFiles(dir).empty()) return FilesOfAttempt(dir);
  if (std::string attempt = LastAttempt(dir); !attempt.empty()) {
    if (!ListTraceFiles(attempt).empty()) return FilesOfAttempt(attempt);
    return Error{fmt::format("{} has no trace file yet: no process of it has made a call that ddbg records", attempt)};
  }
  if (fs::path latest = fs::path(dir) / "latest"; IsDirectory(latest)) return FilesOfDirectory(latest, attempt);
  return Error{fmt::format("{} holds no trace: neither *.ddbg files nor attempts of a run (a0, a1, …)", dir)};
}

Error NoSuchRun(const std::string& name, const std::string& runs_dir) {
  std::error_code error;
  std::string where = fs::absolute(runs_dir, error).lexically_normal();
  return {fmt::format("there is no run \"{}\": it is neither a path nor a run id in {} (DDBG_DIR says where runs are)",
                      name, error ? runs_dir : where)};
}

// Run ids are long; their unique beginning does.
Result<RunFiles> FilesOfRunId(const std::string& id, const std::string& runs_dir, std::optional<unsigned> attempt) {
  if (id.empty()) return NoSuchRun(id, runs_dir);
  if (IsDirectory(fs::path(runs_dir) / id)) return FilesOfDirectory(fs::path(runs_dir) / id, attempt);
  std::vector<std::string> runs = List(runs_dir, [&](const std::string& name) {
    return name != "latest" && name.starts_with(id) && IsDirectory(fs::path(runs_dir) / name);
  });
  if (runs.empty()) return NoSuchRun(id, runs_dir);
  if (runs.size() > 1) {
    return Error{fmt::format("\"{}\" is the beginning of {} runs in {}: {}, {}{}", id, runs.size(), runs_dir, runs[0],
                             runs[1], runs.size() > 2 ? ", …" : "")};
  }
  return FilesOfDirectory(fs::path(runs_dir) / runs[0], attempt);
}

Result<RunFiles> ResolveOne(const std::string& name, const std::string& runs_dir, std::optional<unsigned> attempt) {
  bool is_id = name.find('/') == name.npos;
  if (is_id && !name.empty() && name[0] != '.' && IsDirectory(fs::path(runs_dir) / name)) {
    return FilesOfRunId(name, runs_dir, attempt);
  }
  if (IsDirectory(name)) return FilesOfDirectory(name, attempt);
  if (Exists(name) && attempt) return Error{fmt::format("{} is one file of one attempt; --attempt needs a run", name)};
  if (Exists(name)) return RunFiles{fs::path(name).parent_path(), {name}};
  if (is_id) return FilesOfRunId(name, runs_dir, attempt);
  return NoSuchRun(name, runs_dir);
}

}  // namespace

std::string RunsDirectory() {
  const char* dir = getenv("DDBG_DIR");
  return dir && *dir ? dir : "ddbg-runs";
}

std::vector<std::string> ListTraceFiles(const std::string& dir) {
  std::vector<std::string> files = List(dir, [](const std::string& name) { return name.ends_with(".ddbg"); });
  for (std::string& file : files) file = fs::path(dir) / file;
  return files;
}

std::string LastAttempt(const std::string& run_dir) {
  std::optional<unsigned> last;
  std::string last_name;
  for (const std::string& name : List(run_dir, [](const std::string& n) { return AttemptNumber(n).has_value(); })) {
    if (last && AttemptNumber(name) < last) continue;
    last = AttemptNumber(name);
    last_name = name;
  }
  return last ? std::string(fs::path(run_dir) / last_name) : std::string();
}

Result<RunFiles> ResolveRun(const std::vector<std::string>& names, const std::string& runs_dir,
                            std::optional<unsigned> attempt) {
  RunFiles run;
  for (const std::string& name : names) {
    Result<RunFiles> part = ResolveOne(name, runs_dir, attempt);
    if (!part) return part;
    if (run.dir.empty()) run.dir = part->dir;
    run.files.insert(run.files.end(), part->files.begin(), part->files.end());
  }
  std::sort(run.files.begin(), run.files.end());
  run.files.erase(std::unique(run.files.begin(), run.files.end()), run.files.end());
  return run;
}

}  // namespace ddbg::analyzer
