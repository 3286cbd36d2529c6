#include "analyzer/align/align.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/align/causal_order.h"
#include "analyzer/align/causality.h"
#include "analyzer/align/clock_fit.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostEvidence = 8192;  // of a kind, of a pair of hosts; thinned then
constexpr size_t kAllPairs = 256;       // pairs of one crossing; beyond, only those with one of its hosts
constexpr size_t kMostFits = 512;       // pairs of hosts fitted to find the best way between them
constexpr int64_t kNoWay = INT64_MAX / 4;

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kUnknownError : sum;
}

// Of two hosts, the first the lower one; its clock is the "own" one of the evidence.
struct PairOfHosts {
  uint32_t a = 0, b = 0;
  ClockEvidence evidence;
  size_t limit = kMostEvidence;
};

ClockEvidence Swapped(const ClockEvidence& evidence) {
  ClockEvidence swapped;
  for (const ClockBound& b : evidence.at_least) swapped.at_most.push_back({b.other_ns, b.own_ns});
  for (const ClockBound& b : evidence.at_most) swapped.at_least.push_back({b.other_ns, b.own_ns});
  for (const ClockPair& p : evidence.together) swapped.together.push_back({p.other_ns, p.own_ns, p.noise_ns});
  return swapped;
}

// What each pair of hosts says of each other's clocks.
class Gathering {
 public:
  std::vector<PairOfHosts> Gather(const Causality& causality) {
    causality.ForEach([&](const Crossing& crossing) { Add(crossing); });
    return std::move(pairs_);
  }

 private:
  void Add(const Crossing& crossing) {
    uint32_t hub = UINT32_MAX;
    if (crossing.before.size() * crossing.after.size() > kAllPairs) {
      for (const Moment& cause : crossing.before) hub = std::min(hub, cause.host);
      if (crossing.before.size() > 1)
        for (const Moment& effect : crossing.after) hub = std::min(hub, effect.host);
    }
    for (const Moment& cause : crossing.before)
      for (const Moment& effect : crossing.after) {
        if (cause.host == effect.host) continue;
        if (hub != UINT32_MAX && cause.host != hub && effect.host != hub) continue;
        AddBound(cause, effect, crossing.transit_ns);
      }
    if (crossing.together) AddTogether(crossing, hub);
  }

  PairOfHosts& PairOf(uint32_t a, uint32_t b) {
    auto [low, high] = std::minmax(a, b);
    if (last_ < pairs_.size() && pairs_[last_].a == low && pairs_[last_].b == high) return pairs_[last_];
    uint64_t key = static_cast<uint64_t>(low) << 32 | high;
    auto [at, is_new] = index_.try_emplace(key, pairs_.size());
    if (is_new) pairs_.push_back({low, high, {}, kMostEvidence});
    last_ = at->second;
    return pairs_[last_];
  }

  void AddBound(const Moment& cause, const Moment& effect, int64_t transit_ns) {
    PairOfHosts& pair = PairOf(cause.host, effect.host);
    bool own = cause.host == pair.a;
    if (own)
      pair.evidence.at_most.push_back({cause.t_ns, effect.t_ns});
    else
      pair.evidence.at_least.push_back({effect.t_ns, cause.t_ns});
    if (transit_ns >= 0) {
      int64_t noise_ns = transit_ns + kMessageNoiseNs;
      pair.evidence.together.push_back(own ? ClockPair{cause.t_ns + transit_ns, effect.t_ns, noise_ns}
                                           : ClockPair{effect.t_ns, cause.t_ns + transit_ns, noise_ns});
    }
    ThinIfLarge(&pair);
  }

  // All leave at about the time at which the last one came: within what that one took.
  void AddTogether(const Crossing& crossing, uint32_t hub) {
    for (size_t i = 0; i < crossing.after.size(); ++i)
      for (size_t k = i + 1; k < crossing.after.size(); ++k) {
        Moment one = crossing.after[i], two = crossing.after[k];
        if (hub != UINT32_MAX && one.host != hub && two.host != hub) continue;
        if (one.host > two.host) std::swap(one, two);
        int64_t noise_ns = std::min(Stay(crossing, one), Stay(crossing, two));
        PairOf(one.host, two.host).evidence.together.push_back({one.t_ns, two.t_ns, noise_ns});
      }
  }

  static int64_t Stay(const Crossing& crossing, const Moment& left) {
    for (const Moment& entered : crossing.before)
      if (entered.host == left.host) return std::max<int64_t>(0, left.t_ns - entered.t_ns);
    return kNoWay;
  }

  static void ThinIfLarge(PairOfHosts* pair) {
    ClockEvidence& e = pair->evidence;
    size_t size = std::max({e.at_least.size(), e.at_most.size(), e.together.size()});
    if (size < pair->limit) return;
    Thin(&e);
    size = std::max({e.at_least.size(), e.at_most.size(), e.together.size()});
    pair->limit = std::max(pair->limit, 4 * size);
  }

  static constexpr int64_t kMessageNoiseNs = 10'000;
  std::vector<PairOfHosts> pairs_;
  std::unordered_map<uint64_t, size_t> index_;
  size_t last_ = SIZE_MAX;
};

// How well a pair is tied, where there are too many to fit them all.
int64_t RoughError(const ClockEvidence& evidence) {
  if (evidence.at_least.empty() || evidence.at_most.empty()) return kNoWay / 2;
  if (evidence.together.empty()) return 1'000'000;
  std::vector<int64_t> noise;
  for (const ClockPair& pair : evidence.together) noise.push_back(pair.noise_ns);
  auto middle = noise.begin() + static_cast<std::ptrdiff_t>(noise.size() / 2);
  std::nth_element(noise.begin(), middle, noise.end());
  return *middle;
}

// First `inner`, then `outer`.
HostAxis Composed(const HostAxis& inner, const HostAxis& outer) {
  std::vector<HostAxis::Knot> knots;
  auto add = [&](int64_t own_ns, int64_t between_ns) {
    int64_t error_ns = Sum(inner.ErrorNs(own_ns), outer.ErrorNs(between_ns));
    knots.push_back({own_ns, outer.At(between_ns), error_ns});
  };
  for (const HostAxis::Knot& knot : inner.knots()) add(knot.own_ns, knot.axis_ns);
  if (outer.knots().size() > 1)
    for (const HostAxis::Knot& knot : outer.knots()) add(inner.Back(knot.own_ns), knot.own_ns);
  std::sort(knots.begin(), knots.end(),
            [](const HostAxis::Knot& a, const HostAxis::Knot& b) { return a.own_ns < b.own_ns; });
  std::vector<HostAxis::Knot> rising;
  for (const HostAxis::Knot& knot : knots)
    if (rising.empty() || (knot.own_ns > rising.back().own_ns && knot.axis_ns >= rising.back().axis_ns))
      rising.push_back(knot);
  auto both = [](HostAxis::Rate a, HostAxis::Rate b) {
    return HostAxis::Rate{(1 + a.rate) * (1 + b.rate) - 1, a.doubt + b.doubt};
  };
  return HostAxis(std::move(rising), both(inner.before(), outer.before()), both(inner.behind(), outer.behind()));
}

class Aligner {
 public:
  Aligner(const Run& run, Alignment* alignment) : run_(run), alignment_(*alignment) {}

  void Align(const Causality& causality) {
    pairs_ = Gathering().Gather(causality);
    Weigh();
    size_t hosts = alignment_.first_process.size();
    reached_.assign(hosts, false);
    alignment_.axes.assign(hosts, HostAxis(0, 0));
    for (size_t host = 0; host < hosts; ++host)
      if (!reached_[host]) {
        if (host > 0) alignment_.axes[host] = HostAxis(WallShift(host), kUnknownError);
        Spread(host);
      }
    BlameTheOneThatStepped();
  }

 private:
  struct Edge {
    size_t pair;
    int64_t weight;
  };

  void Weigh() {
    edges_.resize(alignment_.first_process.size());
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const PairOfHosts& pair = pairs_[i];
      if (pair.evidence.empty()) continue;
      int64_t error = pairs_.size() > kMostFits ? RoughError(pair.evidence) : FitClock(pair.evidence).error_ns;
      int64_t weight = std::clamp<int64_t>(error, 0, kNoWay / 4) + 1000;
      edges_[pair.a].push_back({i, weight});
      edges_[pair.b].push_back({i, weight});
    }
  }

  int64_t WallShift(size_t host) const {
    auto offset = [&](size_t of) {
      const Process& process = run_.processes[alignment_.first_process[of]];
      return process.start_realtime_ns ? process.start_realtime_ns - process.start_monotonic_ns : 0;
    };
    return offset(host) - offset(0);
  }

  // Over the ways of the least error to all hosts that can be reached from `root`.
  void Spread(size_t root) {
    struct Reach {
      int64_t error;
      size_t host, from, pair;
      bool operator>(const Reach& other) const { return error > other.error; }
    };
    std::priority_queue<Reach, std::vector<Reach>, std::greater<>> queue;
    queue.push({0, root, root, SIZE_MAX});
    while (!queue.empty()) {
      Reach reach = queue.top();
      queue.pop();
      if (reached_[reach.host]) continue;
      reached_[reach.host] = true;
      if (reach.pair != SIZE_MAX) Tie(reach.host, reach.from, pairs_[reach.pair]);
      for (const Edge& edge : edges_[reach.host]) {
        size_t other = pairs_[edge.pair].a == reach.host ? pairs_[edge.pair].b : pairs_[edge.pair].a;
        if (!reached_[other]) queue.push({Sum(reach.error, edge.weight), other, reach.host, edge.pair});
      }
    }
  }

  void Tie(size_t host, size_t to, const PairOfHosts& pair) {
    ClockFit fit = FitClock(pair.a == host ? pair.evidence : Swapped(pair.evidence));
    alignment_.axes[host] = Composed(fit.axis, alignment_.axes[to]);
    for (const ClockJump& jump : fit.jumps)
      alignment_.steps.push_back({host, to, jump.after_ns, jump.before_ns, jump.lost_ns, jump.error_ns});
  }

  // Two clocks that part do not say which of them stepped. One that parts from several at once is the one.
  void BlameTheOneThatStepped() {
    std::vector<ClockStep>& steps = alignment_.steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      std::vector<size_t> same;
      for (size_t k = i; k < steps.size(); ++k)
        if (steps[k].against == steps[i].against && AtOnce(steps[i], steps[k])) same.push_back(k);
      if (same.size() < 2) continue;
      size_t to = steps[i].against;
      const HostAxis &own = alignment_.axes[steps[i].host], &other = alignment_.axes[to];
      steps[i] = {to,
                  steps[i].host,
                  other.Back(own.At(steps[i].after_ns)),
                  other.Back(own.At(steps[i].before_ns)),
                  -steps[i].lost_ns,
                  steps[i].error_ns};
      for (size_t k = same.size(); k-- > 1;) steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(same[k]));
    }
  }

  bool AtOnce(const ClockStep& a, const ClockStep& b) const {
    const HostAxis &of_a = alignment_.axes[a.host], &of_b = alignment_.axes[b.host];
    bool overlap = of_a.At(a.after_ns) <= of_b.At(b.before_ns) && of_b.At(b.after_ns) <= of_a.At(a.before_ns);
    return overlap && std::abs(a.lost_ns - b.lost_ns) <= Sum(a.error_ns, b.error_ns);
  }

  const Run& run_;
  Alignment& alignment_;
  std::vector<PairOfHosts> pairs_;
  std::vector<std::vector<Edge>> edges_;  // by host
  std::vector<bool> reached_;
};

}  // namespace

std::vector<size_t> HostsOf(const Run& run) {
  std::map<std::pair<std::string, std::string>, size_t> hosts;
  std::vector<size_t> host_of;
  for (const Process& process : run.processes)
    host_of.push_back(hosts.try_emplace({process.host, process.boot_id}, hosts.size()).first->second);
  return host_of;
}

Alignment Align(const Run& run, const Matching& matching, const Messages& messages) {
  Alignment alignment;
  alignment.host_of = HostsOf(run);
  for (size_t i = 0; i < run.processes.size(); ++i)
    if (alignment.host_of[i] == alignment.first_process.size()) alignment.first_process.push_back(i);
  size_t hosts = alignment.first_process.size();
  alignment.axes.assign(hosts, HostAxis(0, 0));
  if (hosts < 2) return alignment;
  Causality causality(run, matching, messages, alignment.host_of, hosts);
  Aligner(run, &alignment).Align(causality);
  alignment.contradictions = KeepCausalOrder(causality, &alignment.axes);
  return alignment;
}

}  // namespace ddbg::analyzer
