#include "analyzer/verdict/attempts.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <set>

#include "analyzer/load/load.h"
#include "analyzer/load/run_dirs.h"
#include "analyzer/model/describe.h"
#include "analyzer/verdict/diagnose.h"

namespace ddbg::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLookedAt = 3;

// 3 of "…/RUN/a3".
std::optional<unsigned> NumberOf(const fs::path& dir) {
  std::string name = dir.filename();
  unsigned number = 0;
  if (name.size() < 2 || name[0] != 'a') return std::nullopt;
  auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

uint64_t BytesOf(const std::vector<std::string>& files) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const std::string& file : files)
    if (uint64_t size = fs::file_size(file, error); !error) bytes += size;
  return bytes;
}

EarlierAttempt LookAt(const fs::path& dir, unsigned number, uint64_t* bytes_left) {
  EarlierAttempt attempt;
  attempt.number = number;
  std::vector<std::string> files = ListTraceFiles(dir);
  uint64_t bytes = BytesOf(files);
  if (files.empty()) {
    attempt.why_not = "it has no trace";
  } else if (bytes > *bytes_left) {
    attempt.why_not = fmt::format("not looked at, as its trace is large: ddbg diagnose {}", dir.string());
  } else {
    *bytes_left -= bytes;
    Run run = LoadRun({dir, files});
    if (run.processes.empty())
      attempt.why_not = "its trace cannot be read";
    else
      attempt.diagnosis = DiagnoseRun(run), attempt.reached = ReachedBy(run);
  }
  return attempt;
}

fs::path WithName(const std::string& dir) {
  return fs::path(dir).has_filename() ? fs::path(dir) : fs::path(dir).parent_path();
}

// The directory of the attempt before, that has a trace; "" if there is none.
fs::path DirBefore(const fs::path& path) {
  for (unsigned number = NumberOf(path).value_or(0); number-- > 0;) {
    fs::path earlier = path.parent_path() / fmt::format("a{}", number);
    std::error_code error;
    if (fs::is_directory(earlier, error) && !ListTraceFiles(earlier).empty()) return earlier;
  }
  return {};
}

// Ranks whose end was seen, or was not.
std::set<int32_t> RanksOf(const Run& run, bool ended) {
  std::set<int32_t> ranks;
  for (const Process& process : run.processes)
    if (process.rank() >= 0 && process.end.recorded == ended) ranks.insert(process.rank());
  return ranks;
}

}  // namespace

std::optional<Run> AttemptLeftBehind(const Run& last, const LoadOptions& options) {
  std::set<int32_t> begun = RanksOf(last, true);
  begun.merge(RanksOf(last, false));
  int32_t world = 0;
  for (const Process& process : last.processes) world = std::max(world, process.world_size());
  if (begun.empty() || static_cast<int32_t>(begun.size()) >= world) return std::nullopt;
  fs::path dir = DirBefore(WithName(last.dir));
  if (dir.empty()) return std::nullopt;
  Result<Run> before = OpenRun({dir}, options);
  if (!before) return std::nullopt;
  std::set<int32_t> ended = RanksOf(*before, true), going = RanksOf(*before, false);
  bool all_ended = std::includes(ended.begin(), ended.end(), begun.begin(), begun.end());
  bool any_begun = std::any_of(going.begin(), going.end(), [&](int32_t rank) { return begun.count(rank) > 0; });
  if (going.empty() || !all_ended || any_begun) return std::nullopt;
  before->caveats.push_back(fmt::format(
      "{} began attempt {} alone, and cannot meet the others, which are still in attempt {}: this is of attempt {}",
      RankList({begun.begin(), begun.end()}), last.attempt_id, before->attempt_id, before->attempt_id));
  return *std::move(before);
}

std::vector<EarlierAttempt> EarlierAttempts(const std::string& dir) {
  fs::path path = WithName(dir);
  std::optional<unsigned> own = NumberOf(path);
  if (!own) return {};
  std::vector<EarlierAttempt> attempts;
  uint64_t bytes_left = kMostBytesOfEarlierAttempts;
  for (unsigned number = *own; number-- > 0;) {
    fs::path earlier = path.parent_path() / fmt::format("a{}", number);
    std::error_code error;
    if (!fs::is_directory(earlier, error)) continue;
    if (attempts.size() < kMostLookedAt) {
      attempts.insert(attempts.begin(), LookAt(earlier, number, &bytes_left));
    } else {
      EarlierAttempt unseen{number, std::nullopt, {}, "not looked at: ddbg diagnose " + earlier.string()};
      attempts.insert(attempts.begin(), std::move(unseen));
    }
  }
  return attempts;
}

Result<std::vector<std::string>> FilesOfAttempt(const std::vector<std::string>& names, unsigned number) {
  Result<RunFiles> run = ResolveRun(names, RunsDirectory(), number);
  if (!run) return run.error();
  return std::move(run->files);
}

std::string OutcomeText(const EarlierAttempt& attempt) {
  if (!attempt.diagnosis) return attempt.why_not;
  std::string text = attempt.diagnosis->verdict == Diagnosis::kHealthy ? "healthy" : "unknown";
  if (!attempt.diagnosis->findings.empty()) {
    const Finding& first = attempt.diagnosis->findings[0];
    text = first.kind;
    if (!first.culprit_ranks.empty()) text += fmt::format(" ({})", RankList(first.culprit_ranks));
  }
  std::string reached = ReachedText(attempt.reached);
  return reached.empty() ? text : text + ", reached " + reached;
}

}  // namespace ddbg::analyzer
