#include "analyzer/find/loader_stall.h"

#include <algorithm>
#include <map>

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostRounds = 500, kMostOthers = 8;  // looked at
constexpr double kMostOfIt = 0.5;                     // of the excess

using ByName = std::map<std::string, double>;

// Adds up the time of each phase that lies between two times; phases may lie in each other, and count both.
void AddBetween(const std::vector<Phase>& phases, int64_t from, int64_t to, double weight, ByName* sums) {
  auto after = std::partition_point(phases.begin(), phases.end(), [&](const Phase& p) { return p.start_ns < to; });
  for (auto phase = after; phase != phases.begin();) {
    --phase;
    int64_t overlap = std::min(phase->end_ns, to) - std::max(phase->start_ns, from);
    if (overlap > 0) (*sums)[phase->name] += weight * static_cast<double>(overlap);
    if (after - phase > 64) break;  // in order of their start: none before reaches so far, but for an endless one
  }
}

// The time that a round is about, on the process's own clock.
std::pair<int64_t, int64_t> Between(const Context& context, const Rounds& rounds, size_t rank, size_t k) {
  const Process& process = context.process(rounds.processes[rank]);
  if (rounds.IsOfSteps()) {
    int64_t from = process.calls[rounds.calls[rank][k]].start_ns;
    return {from, from + static_cast<int64_t>(rounds.times.cycle[k])};
  }
  const Member& member = context.matching.groups[rounds.group].members[rounds.members[rank]];
  const Call& before = process.calls[member.calls[rounds.seqs[k] - 1]];
  return {before.start_ns + before.duration_ns, process.calls[member.calls[rounds.seqs[k]]].start_ns};
}

}  // namespace

std::string PhaseOf(const Context& context, const Lateness& lateness, const std::vector<std::vector<Phase>>& phases) {
  const Rounds& rounds = lateness.rounds;
  const Straggle& worst = lateness.culprits[0];
  std::vector<size_t> where = worst.where;
  for (size_t k = worst.from; where.empty() || (worst.where.empty() && k < rounds.times.rounds()); ++k)
    where.push_back(k);
  if (where.size() > kMostRounds) where.erase(where.begin() + kMostRounds, where.end());
  ByName excess;
  auto add = [&](size_t rank, double weight) {
    size_t process = rounds.processes[rank];
    for (size_t k : where) {
      auto [from, to] = Between(context, rounds, rank, k);
      AddBetween(phases[process], from, to, weight, &excess);
    }
  };
  add(worst.rank, 1);
  size_t others = std::min(kMostOthers, rounds.times.ranks() - 1);
  for (size_t i = 0; i < others; ++i)
    add((worst.rank + 1 + i * (rounds.times.ranks() - 1) / others) % rounds.times.ranks(),
        -1.0 / static_cast<double>(others));
  std::string name;
  double most = kMostOfIt * worst.excess_ns * static_cast<double>(where.size());
  for (const auto& [phase, ns] : excess)
    if (ns >= most) name = phase, most = ns;
  return name;
}

const char* KindOfPhase(const std::string& phase) {
  return phase == "loader" ? "loader_stall" : phase == "checkpoint" ? "io_stall" : "straggler";
}

}  // namespace ddbg::analyzer
