// Jobs that never became one job: singletons under a foreign launcher, ranks that are missing or claimed twice.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/context.h"
#include "analyzer/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr double kInitSeconds = 5.0;

bool IsLonely(const Process& process) { return process.mpi_size == 1 && process.launcher_world_size > 1; }

std::vector<Finding> FindSingletons(Context& context) {
  Finding finding;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Process& p = context.process(i);
    if (!IsLonely(p)) continue;
    finding.culprit_ranks.push_back(p.launcher_rank);
    finding.evidence.push_back(fmt::format("pid {}: launched as rank {} of {} by {} ({}), but {} says rank {} of {}",
                                           p.pid, p.launcher_rank, p.launcher_world_size, p.launcher, p.parent,
                                           p.mpi_version.empty() ? p.mpi_abi : p.mpi_version, p.mpi_rank, p.mpi_size));
    if (finding.first.process == kNoIndex) {
      finding.first = context.Event(i, kNoIndex);
      finding.first.rank = p.launcher_rank;
      finding.first.call_name = "MPI_Init";
      finding.first.field = "world size";
      finding.first.expected = std::to_string(p.launcher_world_size);
      finding.first.actual = "1";
      finding.first.t_ns = p.start_monotonic_ns;
    }
  }
  if (finding.culprit_ranks.empty()) return {};
  const Process& p = context.process(finding.first.process);
  finding.kind = "singleton_world";
  finding.proof = Proof::kStartUp;
  finding.wont_start = true;
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.summary = fmt::format(
      "{} processes were started together by {} ({} ranks expected), but each is rank 0 of 1 of its own world: the "
      "program "
      "is linked to {}, and launcher and library do not match.",
      finding.culprit_ranks.size(), p.launcher.empty() ? p.parent : p.launcher, p.launcher_world_size,
      p.mpi_version.empty() ? p.mpi_abi : p.mpi_version);
  return {finding};
}

bool Overlap(const Process& a, const Process& b) {
  int64_t end_a = a.end.how == ProcessEnd::kRunning ? INT64_MAX : a.end.t_ns;
  int64_t end_b = b.end.how == ProcessEnd::kRunning ? INT64_MAX : b.end.t_ns;
  return a.start_monotonic_ns < end_b && b.start_monotonic_ns < end_a;
}

// Two living processes with one rank. One after the other is a script that runs two programs.
std::vector<Finding> FindDuplicates(Context& context) {
  std::map<int32_t, size_t> owner;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Process& p = context.process(i);
    if (!context.situation(i).communicates || p.rank() < 0 || IsLonely(p)) continue;
    auto [at, is_new] = owner.try_emplace(p.rank(), i);
    if (is_new || !Overlap(context.process(at->second), p) || p.world_size() <= 1) continue;
    const Process& other = context.process(at->second);
    Finding finding;
    finding.kind = "duplicate_rank";
    finding.proof = Proof::kStartUp;
    finding.wont_start = true;
    finding.first = context.Event(i, kNoIndex);
    finding.first.field = "rank";
    finding.first.actual = std::to_string(p.rank());
    finding.first.expected = "a rank of its own";
    finding.first.t_ns = p.start_monotonic_ns;
    finding.culprit_ranks = {p.rank()};
    finding.summary = fmt::format("Two processes claim rank {}: pid {} on {} and pid {} on {}.", p.rank(), other.pid,
                                  other.host, p.pid, p.host);
    return {finding};
  }
  return {};
}

// Everyone there waits in MPI_Init for somebody who is not.
std::vector<Finding> FindMissing(Context& context) {
  std::set<int32_t> there;
  int32_t world = -1;
  double waited = 0;
  size_t first = kNoIndex;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Process& p = context.process(i);
    const Situation& s = context.situation(i);
    if (p.launcher_rank < 0 || p.launcher_world_size < 2) return {};
    there.insert(p.launcher_rank);
    world = p.launcher_world_size;
    if (s.initialized || s.open_call == kNoIndex || context.call(i, s.open_call).info().kind != CallKind::Init)
      return {};
    waited = std::max(waited, context.OpenSeconds(i, s.open_call));
    if (first == kNoIndex) first = i;
  }
  if (first == kNoIndex || static_cast<int32_t>(there.size()) >= world || waited < kInitSeconds) return {};
  Finding finding;
  finding.kind = "missing_rank";
  finding.proof = Proof::kStartUp;
  finding.wont_start = true;
  finding.first = context.Event(first, context.situation(first).open_call);
  finding.first.field = "arrival";
  finding.first.expected = fmt::format("{} ranks", world);
  finding.first.actual = fmt::format("{} ranks", there.size());
  for (int32_t rank = 0; rank < world; ++rank)
    if (!there.count(rank)) finding.culprit_ranks.push_back(rank);
  finding.first.rank = finding.culprit_ranks[0];
  finding.summary = fmt::format("{} never called MPI_Init; the other {} wait there for {:.1f} s.",
                                RankList(finding.culprit_ranks), there.size(), waited);
  finding.confidence = 0.8;
  return {finding};
}

}  // namespace

std::vector<Finding> FindStartUp(Context& context) {
  for (auto rule : {FindSingletons, FindDuplicates, FindMissing}) {
    std::vector<Finding> findings = rule(context);
    if (!findings.empty()) return findings;
  }
  return {};
}

}  // namespace ddbg::analyzer
