// Rule 8: ranks of the world that ddbg saw no call of. What is wrong with them, or by them, cannot be told.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyzer/context/context.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

// Ranks of the world no process of which made a call of MPI or NCCL.
std::vector<int32_t> Unseen(const Context& context, int32_t world) {
  std::set<int32_t> there;
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    if (context.situation(i).communicates) there.insert(context.rank(i));
  std::vector<int32_t> unseen;
  for (int32_t rank = 0; rank < world; ++rank)
    if (!there.count(rank)) unseen.push_back(rank);
  return unseen;
}

// Somebody has been told by MPI or NCCL itself how large the world is: then those ranks were there.
int32_t WorldThatMet(const Context& context) {
  int32_t size = -1;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Process& process = context.process(i);
    if (context.situation(i).communicates) size = std::max({size, process.mpi_size, process.nccl_size});
  }
  return size;
}

std::string Reason(const Context& context, int32_t rank, bool met) {
  for (const Process& process : context.run.processes)
    if (process.rank() == rank)
      return fmt::format(
          "rank {} (pid {} on {}) runs with ddbg and made no call of MPI or NCCL that it saw: it has not "
          "come to one, or its library is linked statically or was loaded in a way that goes round a preload",
          rank, process.pid, process.host);
  return met ? fmt::format(
                   "rank {} takes part in the job, and no file of it is there: it was started without the preload, "
                   "is linked statically, or wrote its files elsewhere (another node's directory)",
                   rank)
             : fmt::format(
                   "rank {} was never seen: not started, without the preload, before its first call, or on a node "
                   "whose files were not given",
                   rank);
}

}  // namespace

std::vector<Finding> FindNotTraced(Context& context) {
  constexpr size_t kMostReasons = 4;
  int32_t met = WorldThatMet(context), world = met;
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    if (context.situation(i).communicates) world = std::max(world, context.process(i).world_size());
  std::vector<int32_t> unseen = Unseen(context, world);
  if (unseen.empty()) return {};
  Finding finding;
  finding.kind = "not_traced";
  finding.proof = Proof::kUnknown;
  finding.confidence = 0;
  finding.culprit_ranks = unseen;
  finding.first.rank = unseen[0];
  finding.first.field = "trace";
  finding.first.expected = fmt::format("{} ranks", world);
  finding.first.actual = fmt::format("{} ranks", world - static_cast<int32_t>(unseen.size()));
  finding.summary = fmt::format("Cannot tell: {} {} not traced, and nothing is wrong among the others.",
                                RankList(unseen), unseen.size() == 1 ? "was" : "were");
  for (size_t i = 0; i < unseen.size() && i < kMostReasons; ++i)
    finding.evidence.push_back(Reason(context, unseen[i], unseen[i] < met));
  for (size_t i = 0; i < context.run.processes.size() && finding.evidence.size() < 2 * kMostReasons; ++i) {
    const Situation& s = context.situation(i);
    if (s.alive_at_end() && s.open_call != kNoIndex && context.OpenSeconds(i, s.open_call) >= 3)
      finding.evidence.push_back(fmt::format("rank {} is {}", context.rank(i), context.WhereIs(i)));
  }
  return {finding};
}

}  // namespace ddbg::analyzer
