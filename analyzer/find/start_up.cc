// MPI jobs that never became one job: ranks that are missing or claimed twice, and an init that does not end. Worlds of
// other sizes: world_sizes.cc. Of NCCL: nccl_init.cc, of PyTorch: process_group.cc.
#include "analyzer/find/start_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr double kNoProgressSeconds = 10.0;

// Two living processes with one rank. One after the other is a script that runs two programs.
std::optional<Finding> Duplicates(const Context& context) {
  std::map<int32_t, size_t> owner;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Process& p = context.process(i);
    if (!context.situation(i).communicates || p.rank() < 0 || IsLonely(p)) continue;
    auto [at, is_new] = owner.try_emplace(p.rank(), i);
    const Process& other = context.process(at->second);
    if (is_new || !Overlap(context, at->second, i) || p.world_size() <= 1) continue;
    bool launched_apart = p.launcher_rank >= 0 && other.launcher_rank >= 0 && p.launcher_rank != other.launcher_rank;
    if (launched_apart && p.mpi_size > 0 && p.mpi_size < p.launcher_world_size)
      return SeveralWorlds(context, at->second, i);
    Finding finding =
        BeginStartUp(context, "duplicate_rank", i, kNoIndex, "rank", "a rank of its own", std::to_string(p.rank()));
    finding.culprit_ranks = {p.rank()};
    finding.summary = fmt::format("Two processes claim rank {}: pid {} on {} and pid {} on {}.", p.rank(), other.pid,
                                  other.host, p.pid, p.host);
    AddRankSources(context, at->second, &finding);
    AddRankSources(context, i, &finding);
    return finding;
  }
  return std::nullopt;
}

void AddWhatIsKnown(Context& context, const std::vector<size_t>& early, size_t missing, Finding* finding) {
  for (size_t i : early)
    finding->evidence.push_back(fmt::format("rank {} (pid {} on {}) runs and has not called MPI_Init: it is {}",
                                            context.rank(i), context.process(i).pid, context.process(i).host,
                                            context.WhereIs(i)));
  if (early.size() < missing)
    finding->evidence.push_back(
        "of the others no process was seen: not started, before its first call of MPI, NCCL or CUDA, not preloaded, "
        "or on a node whose files were not given");
}

// Everyone there waits in MPI_Init for somebody who is not.
std::optional<Finding> Missing(Context& context) {
  std::set<int32_t> there;
  std::vector<size_t> early;  // seen, but not in its init yet
  int32_t world = -1;
  double waited = 0;
  size_t first = kNoIndex;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Process& p = context.process(i);
    if (p.launcher_rank < 0 || p.launcher_world_size < 2) return std::nullopt;
    world = std::max(world, p.launcher_world_size);
    double seconds = SecondsInInit(context, i);
    if (seconds <= 0 && context.situation(i).communicates) return std::nullopt;
    if (seconds <= 0) {
      if (context.situation(i).end == EndCause::kRunning) early.push_back(i);
      continue;
    }
    there.insert(p.launcher_rank);
    waited = std::max(waited, seconds);
    if (first == kNoIndex) first = i;
  }
  if (first == kNoIndex || static_cast<int32_t>(there.size()) >= world || waited < kInitSeconds) return std::nullopt;
  Finding finding = BeginStartUp(context, "missing_rank", first, context.situation(first).open_call, "arrival",
                                 fmt::format("{} ranks", world), fmt::format("{} ranks", there.size()));
  for (int32_t rank = 0; rank < world; ++rank)
    if (!there.count(rank)) finding.culprit_ranks.push_back(rank);
  finding.first.rank = finding.culprit_ranks[0];
  finding.summary = fmt::format("{} never called MPI_Init; the other {} wait there for {:.1f} s.",
                                RankList(finding.culprit_ranks), there.size(), waited);
  finding.confidence = 0.8;
  std::erase_if(early, [&](size_t i) { return there.count(context.rank(i)) > 0; });
  AddWhatIsKnown(context, early, finding.culprit_ranks.size(), &finding);
  return finding;
}

// Nobody does anything else than to be in a call for long: one that computes may be what the init waits for.
bool OthersWait(const Context& context, const std::vector<size_t>& processes) {
  return std::all_of(processes.begin(), processes.end(), [&](size_t i) {
    const Situation& s = context.situation(i);
    return s.alive_at_end() && s.open_call != kNoIndex && context.OpenSeconds(i, s.open_call) >= kInitSeconds;
  });
}

// All came to MPI_Init, or some are through it and wait for those who are not.
std::optional<Finding> Stuck(Context& context) {
  std::vector<size_t> inside, all;
  int32_t world = -1;
  double longest = 0;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (!context.situation(i).communicates) continue;
    all.push_back(i);
    world = std::max(world, context.process(i).world_size());
    if (SecondsInInit(context, i) > 0) inside.push_back(i);
    longest = std::max(longest, SecondsInInit(context, i));
  }
  bool all_there = world > 1 && static_cast<int32_t>(all.size()) >= world;
  if (inside.empty() || longest < kNoProgressSeconds || !all_there || !OthersWait(context, all)) return std::nullopt;
  size_t first = inside[0];
  Finding finding =
      BeginStartUp(context, "library_stall", first, context.situation(first).open_call, "progress", "return", "open");
  finding.proof = Proof::kNoProgress;
  finding.confidence = 0.6;
  for (size_t i : inside) finding.culprit_ranks.push_back(context.rank(i));
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  bool everyone = inside.size() == all.size();
  finding.summary = fmt::format(
      "{} {} in MPI_Init for {:.1f} s, {}: the network, the launcher or the MPI library.",
      RankList(finding.culprit_ranks), inside.size() == 1 ? "has been" : "have been", longest,
      everyone ? "all ranks of the job, and nobody has left it" : "while the others are through it and wait");
  for (size_t i : all) finding.evidence.push_back(fmt::format("rank {} is {}", context.rank(i), context.WhereIs(i)));
  finding.evidence.push_back("which addresses the ranks tried is not recorded");
  return finding;
}

}  // namespace

Finding BeginStartUp(const Context& context, const char* kind, size_t process, size_t call, const char* field,
                     std::string expected, std::string actual) {
  Finding finding;
  finding.kind = kind;
  finding.proof = Proof::kStartUp;
  finding.wont_start = true;
  finding.first = context.Event(process, call);
  finding.first.field = field;
  finding.first.expected = std::move(expected);
  finding.first.actual = std::move(actual);
  if (call == kNoIndex && process != kNoIndex)
    finding.first.t_ns = context.timeline.At(process, context.process(process).start_monotonic_ns);
  return finding;
}

double SecondsInInit(const Context& context, size_t process) {
  const Situation& s = context.situation(process);
  if (s.initialized || s.open_call == kNoIndex || !s.alive_at_end()) return 0;
  const Call& call = context.call(process, s.open_call);
  bool init = call.info().api == Api::Mpi && call.info().kind == CallKind::Init;
  return init ? context.OpenSeconds(process, s.open_call) : 0;
}

bool Overlap(const Context& context, size_t a, size_t b) {
  auto start = [&](size_t i) { return context.timeline.At(i, context.process(i).start_monotonic_ns); };
  auto end = [&](size_t i) {
    const ProcessEnd& end = context.process(i).end;
    return end.how == ProcessEnd::kRunning ? INT64_MAX : context.timeline.At(i, end.t_ns);
  };
  return start(a) < end(b) && start(b) < end(a);
}

void AddRankSources(const Context& context, size_t process, Finding* finding) {
  const Process& p = context.process(process);
  constexpr size_t kMostShown = 200;  // of TF_CONFIG
  std::string sources;
  for (const KeyValue& source : p.rank_sources) {
    bool cut = source.value.size() > kMostShown;
    sources += fmt::format("{}{}={}{}", sources.empty() ? "" : ", ", source.key, source.value.substr(0, kMostShown),
                           cut ? "…" : "");
  }
  if (!sources.empty()) finding->evidence.push_back(fmt::format("pid {} on {}: {}", p.pid, p.host, sources));
}

std::vector<Finding> FindStartUp(Context& context) {
  std::optional<Finding> finding = FindSingletons(context);
  if (!finding) finding = FindProcessGroupTrouble(context);
  if (!finding) finding = Duplicates(context);
  if (!finding) finding = FindDifferingSizes(context);
  if (!finding) finding = FindClusterTrouble(context);
  if (!finding) finding = Missing(context);
  if (!finding) finding = Stuck(context);
  return finding ? std::vector<Finding>{*finding} : std::vector<Finding>{};
}

}  // namespace ddbg::analyzer
