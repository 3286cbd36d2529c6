// MPI's worlds that do not have the size that was launched: singletons under a foreign launcher, several worlds where
// one was launched, ranks that were not told the same size.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/find/start_up.h"
#include "analyzer/launch/rank_sources.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

std::string MpiName(const Process& p) { return p.mpi_version.empty() ? p.mpi_abi : p.mpi_version; }

std::string Counted(size_t processes) { return processes == 1 ? "1 process" : fmt::format("{} processes", processes); }

}  // namespace

bool IsLonely(const Process& process) {
  return process.mpi_size == 1 && process.launcher_world_size > 1 && process.launcher != "torchrun" &&
         process.launcher != "accelerate" && process.launcher != "Horovod" && process.nccl_size <= 1 &&
         LauncherVariable(process, "MASTER_ADDR").empty();
}

std::optional<Finding> FindSingletons(const Context& context) {
  std::vector<size_t> lonely;
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    if (IsLonely(context.process(i))) lonely.push_back(i);
  if (lonely.empty()) return std::nullopt;
  const Process& p = context.process(lonely[0]);
  Finding finding = BeginStartUp(context, "singleton_world", lonely[0], kNoIndex, "world size",
                                 std::to_string(p.launcher_world_size), "1");
  finding.first.rank = p.launcher_rank;
  finding.first.call_name = "MPI_Init";
  for (size_t i : lonely) {
    const Process& each = context.process(i);
    finding.culprit_ranks.push_back(each.launcher_rank);
    finding.evidence.push_back(fmt::format("pid {}: launched as rank {} of {} by {} ({}), but {} says rank {} of {}",
                                           each.pid, each.launcher_rank, each.launcher_world_size, each.launcher,
                                           each.parent, MpiName(each), each.mpi_rank, each.mpi_size));
  }
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.summary = fmt::format(
      "{} {} started by {} ({} ranks expected), but {} rank 0 of 1 of its own world: the program is linked to {}, "
      "and launcher and library do not match.",
      Counted(lonely.size()), lonely.size() == 1 ? "was" : "were", p.launcher.empty() ? p.parent : p.launcher,
      p.launcher_world_size, lonely.size() == 1 ? "is" : "each is", MpiName(p));
  return finding;
}

// Launched as one job, but the libraries met in smaller circles.
Finding SeveralWorlds(const Context& context, size_t first, size_t second) {
  const Process& p = context.process(second);
  Finding finding = BeginStartUp(context, "world_size_mismatch", second, kNoIndex, "world size",
                                 std::to_string(p.launcher_world_size), std::to_string(p.mpi_size));
  finding.first.rank = p.launcher_rank;
  finding.first.call_name = "MPI_Init";
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Process& each = context.process(i);
    if (each.mpi_size <= 0 || each.mpi_size >= each.launcher_world_size) continue;
    finding.culprit_ranks.push_back(each.launcher_rank);
    finding.evidence.push_back(fmt::format("pid {} on {}: launched as rank {} of {}, but MPI says rank {} of {}",
                                           each.pid, each.host, each.launcher_rank, each.launcher_world_size,
                                           each.mpi_rank, each.mpi_size));
  }
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.summary = fmt::format(
      "{} ranks were launched as one job, but MPI made several worlds of them: ranks {} and {} of the launcher are "
      "both rank {} of {}.",
      p.launcher_world_size, context.process(first).launcher_rank, p.launcher_rank, p.mpi_rank, p.mpi_size);
  return finding;
}

// Everyone there waits in MPI_Init, and they were not told the same number of ranks.
std::optional<Finding> FindDifferingSizes(const Context& context) {
  std::map<int32_t, std::vector<size_t>> told;  // by number
  double waited = 0;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Process& p = context.process(i);
    double seconds = SecondsInInit(context, i);
    if (p.launcher_world_size < 2 || (seconds <= 0 && context.situation(i).communicates)) return std::nullopt;
    told[p.launcher_world_size].push_back(i);
    waited = std::max(waited, seconds);
  }
  if (told.size() < 2 || waited < kInitSeconds) return std::nullopt;
  auto usual = std::max_element(told.begin(), told.end(),
                                [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  bool tie = 2 * usual->second.size() <= context.run.processes.size();
  size_t odd = kNoIndex;
  std::vector<int32_t> culprits;
  std::string sizes;
  for (const auto& [size, processes] : told) {
    std::vector<int32_t> ranks;
    for (size_t i : processes) ranks.push_back(context.process(i).launcher_rank);
    std::sort(ranks.begin(), ranks.end());
    sizes += fmt::format("{}{} of {}", sizes.empty() ? "" : ", ", RankList(ranks), size);
    if (size != usual->first && odd == kNoIndex) odd = processes[0];
    if (size != usual->first || tie) culprits.insert(culprits.end(), ranks.begin(), ranks.end());
  }
  const Process& p = context.process(odd);
  Finding finding = BeginStartUp(context, "world_size_mismatch", odd, context.situation(odd).open_call, "world size",
                                 std::to_string(usual->first), std::to_string(p.launcher_world_size));
  finding.first.rank = p.launcher_rank;
  finding.culprit_ranks = std::move(culprits);
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.summary = fmt::format(
      "The ranks were not told the same number of ranks: {}; they wait in MPI_Init for {:.1f} s.", sizes, waited);
  AddRankSources(context, odd, &finding);
  finding.confidence = tie ? 0.6 : 0.9;
  return finding;
}

}  // namespace ddbg::analyzer
