#include "analyzer/find/cpu_wait.h"

#include <algorithm>

namespace ddbg::analyzer {
namespace {

constexpr double kMost = 0.5;
constexpr double kSpins = 0.8;  // of the time in calls a thread runs or is ready to
constexpr std::ptrdiff_t kFewestSamples = 3;
constexpr size_t kMostRanks = 64;  // looked at beside the culprit

// From the call that shows round `from` to the one of round `to`, on the rank's own clock.
std::pair<int64_t, int64_t> TimeOf(const Context& context, const Rounds& rounds, size_t rank, size_t from, size_t to) {
  size_t process = rounds.processes[rank];
  auto start = [&](size_t k) { return context.call(process, rounds.CallOf(context.matching, rank, k)).start_ns; };
  int64_t before = rounds.IsOfSteps() ? 0 : static_cast<int64_t>(rounds.times.own[rank][from]);
  int64_t after = rounds.IsOfSteps() ? static_cast<int64_t>(rounds.times.cycle[to]) : 0;
  return {start(from) - before, start(to) + after};
}

std::optional<double> WaitNs(const Context& context, const Rounds& rounds, size_t rank, size_t from, size_t to) {
  auto [from_ns, to_ns] = TimeOf(context, rounds, rank, from, to);
  std::optional<CpuShare> share = CpuShareOf(context.process(rounds.processes[rank]), from_ns, to_ns);
  if (!share) return std::nullopt;
  std::vector<OwnTime> own = OwnUntil(context.process(rounds.processes[rank]), {from_ns, to_ns});
  return OwnWaitNs(*share, static_cast<double>((own[1] - own[0]).total()), static_cast<double>(to_ns - from_ns));
}

// Of some ranks spread over all, one left out.
std::vector<double> WaitsNs(const Context& context, const Rounds& rounds, size_t but, size_t from, size_t to) {
  std::vector<double> waits;
  size_t ranks = rounds.times.ranks(), stride = ranks / kMostRanks + 1;
  for (size_t r = 0; r < ranks; r += stride)
    if (std::optional<double> wait = r == but ? std::nullopt : WaitNs(context, rounds, r, from, to))
      waits.push_back(*wait);
  return waits;
}

}  // namespace

double OwnWaitNs(const CpuShare& share, double own_ns, double time_ns) {
  double ready = static_cast<double>(share.run_ns + share.wait_ns), wait = static_cast<double>(share.wait_ns);
  double in_calls = time_ns - own_ns;
  if (ready <= 0 || in_calls < 0) return std::min(wait, own_ns);
  if (ready < kSpins * in_calls) return std::min(wait, own_ns);  // it sleeps in its calls
  return wait * std::clamp((ready - in_calls) / ready, 0.0, 1.0);
}

bool IsMostlyCpuWait(const Context& context, const Rounds& rounds, const Straggle& straggle) {
  size_t from = straggle.where.empty() ? straggle.from : straggle.where.front();
  size_t to = straggle.where.empty() ? rounds.times.rounds() - 1 : straggle.where.back();
  std::optional<double> own = WaitNs(context, rounds, straggle.rank, from, to);
  std::vector<double> others = WaitsNs(context, rounds, straggle.rank, from, to);
  if (!own || others.empty()) return false;
  std::nth_element(others.begin(), others.begin() + (others.size() - 1) / 2, others.end());
  return *own - others[(others.size() - 1) / 2] >= kMost * straggle.lost_ns;
}

bool HasCpuForEach(const Context& context, size_t process) {
  const Process& p = context.process(process);
  const NodeTelemetry* node = NodeOf(context.run, p);
  std::optional<int64_t> cpus = node ? ValueAt(node->system, Metric::kCpus, INT64_MAX) : std::nullopt;
  int64_t ranks = 0;
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    ranks += context.process(i).host == p.host && context.situation(i).communicates;
  return cpus && ranks <= *cpus;
}

std::optional<double> CpuWaitShare(const Context& context, const Rounds& rounds) {
  size_t last = rounds.times.rounds() - 1;
  auto [from_ns, to_ns] = TimeOf(context, rounds, 0, 0, last);
  const std::vector<int64_t>& samples = context.process(rounds.processes[0]).samples.t_ns;
  auto first = std::lower_bound(samples.begin(), samples.end(), from_ns);
  if (std::upper_bound(first, samples.end(), to_ns) - first < kFewestSamples) return std::nullopt;
  double wait_ns = 0, time_ns = 0;
  size_t ranks = rounds.times.ranks(), stride = ranks / kMostRanks + 1;
  for (size_t r = 0; r < ranks; r += stride) {
    auto [begin, end] = TimeOf(context, rounds, r, 0, last);
    std::optional<CpuShare> share = CpuShareOf(context.process(rounds.processes[r]), begin, end);
    if (!share) return std::nullopt;
    wait_ns += static_cast<double>(share->wait_ns);
    time_ns += static_cast<double>(end - begin);
  }
  return time_ns > 0 ? std::optional(std::min(1.0, wait_ns / time_ns)) : std::nullopt;
}

}  // namespace ddbg::analyzer
