#include "analyzer/find/lateness.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/find/cpu_wait.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

// Of a place that few turns come to: the rank's own time is that many times the longest of the others', each time.
constexpr double kRareTimes = 3;
constexpr size_t kFewestRare = 3;
constexpr double kRareLoss = 0.05;       // of the whole loop
constexpr double kRareNs = 100'000'000;  // each time
constexpr double kStarvedNs = 3e9;
constexpr double kMostly = 0.5;
constexpr double kIdle = 0.05;  // of the rank's: the others have nothing to do there

// Would the loop be faster by it? NCCL's calls return at once, and a rank that then waits for its device as long as all
// the others do hides its own time behind the device's.
bool IsCritical(const Context& context, const Arrivals& arrivals, const Rounds& rounds, size_t rank) {
  if (rounds.IsOfSteps() || !context.matching.groups[rounds.group].nccl || rounds.loop_ns <= 0) return true;
  const CommGroup& group = context.matching.groups[rounds.group];
  std::vector<double> waits;
  for (size_t m : rounds.members) {
    const OwnTime* first = arrivals.Until(rounds.group, m, rounds.seqs.front());
    const OwnTime* last = arrivals.Until(rounds.group, m, rounds.seqs.back());
    if (!first || !last) return false;
    const Member& member = group.members[m];
    const Process& process = context.process(member.process);
    double span = static_cast<double>(process.calls[member.calls[rounds.seqs.back()]].start_ns -
                                      process.calls[member.calls[rounds.seqs.front()]].start_ns);
    waits.push_back(span > 0 ? 1 - static_cast<double>((*last - *first).total()) / span : 0);
  }
  double own = waits[rank];
  std::nth_element(waits.begin(), waits.begin() + waits.size() / 2, waits.end());
  return own < 0.5 || own < 0.6 * waits[waits.size() / 2];
}

bool IsLowest(const Rounds& rounds, size_t rank, const Context& context) {
  for (size_t process : rounds.processes)
    if (context.rank(process) < context.rank(rounds.processes[rank])) return false;
  return true;
}

bool OthersAreIdle(const Rounds& rounds, const Straggle& straggle) {
  std::vector<float> others;
  const std::vector<std::vector<float>>& own = rounds.times.own;
  for (size_t k : straggle.where)
    for (size_t r = 0; r < own.size(); ++r)
      if (r != straggle.rank) others.push_back(own[r][k] / std::max(1.f, own[straggle.rank][k]));
  if (others.empty()) return false;
  auto middle = others.begin() + others.size() / 2;
  std::nth_element(others.begin(), middle, others.end());
  return *middle < kIdle;
}

// The call that a rank comes to after its longest stay outside of calls in a round: perhaps on another communicator.
size_t CallAfterLongest(const Context& context, const Rounds& rounds, size_t rank, size_t k) {
  const std::vector<Call>& calls = context.process(rounds.processes[rank]).calls;
  size_t from = 0, to = calls.size() - 1;
  if (rounds.IsOfSteps()) {
    from = rounds.calls[rank][k];
    if (k + 1 < rounds.calls[rank].size()) to = rounds.calls[rank][k + 1];
  } else {
    const Member& member = context.matching.groups[rounds.group].members[rounds.members[rank]];
    from = member.calls[rounds.seqs[k] - 1], to = member.calls[rounds.seqs[k]];
  }
  size_t after = to;
  int64_t longest = -1, left = calls[from].start_ns + (calls[from].open() ? 0 : calls[from].duration_ns);
  for (size_t c = from + 1; c <= to; ++c) {
    if (!calls[c].known() || IsMark(calls[c]) || IsPoll(calls[c])) continue;
    if (calls[c].start_ns - left > longest) longest = calls[c].start_ns - left, after = c;
    left = std::max(left, calls[c].start_ns + (calls[c].open() ? 0 : calls[c].duration_ns));
  }
  return after;
}

bool IsByDesign(const Context& context, const Rounds& rounds, const Straggle& straggle) {
  if (!IsLowest(rounds, straggle.rank, context) || straggle.where.empty()) return false;
  size_t call = CallAfterLongest(context, rounds, straggle.rank, straggle.where[0]);
  bool barrier = context.call(rounds.processes[straggle.rank], call).info().shape == CallShape::Barrier;
  return (barrier || rounds.IsRare()) && OthersAreIdle(rounds, straggle);
}

// A place that comes three to fifteen times: one rank, each time or from some time on, far beyond all others.
std::vector<Straggle> JudgeRare(const Rounds& rounds) {
  const std::vector<std::vector<float>>& own = rounds.times.own;
  for (size_t r = 0; r < own.size(); ++r) {
    Straggle straggle;
    straggle.rank = r;
    straggle.shape = Shape::kIrregular;
    for (size_t k = 0; k < rounds.times.rounds(); ++k) {
      float others = 0;
      for (size_t o = 0; o < own.size(); ++o)
        if (o != r) others = std::max(others, own[o][k]);
      if (own[r][k] < kRareTimes * others || own[r][k] - others < kRareNs) continue;
      straggle.where.push_back(k);
      straggle.lost_ns += own[r][k] - others;
    }
    straggle.times = straggle.where.size();
    if (straggle.times < kFewestRare || straggle.where.front() + straggle.times < rounds.times.rounds()) continue;
    straggle.from = straggle.where.front();
    straggle.loss = straggle.lost_ns / static_cast<double>(std::max<int64_t>(1, rounds.loop_ns));
    straggle.excess_ns = straggle.lost_ns / static_cast<double>(straggle.times);
    straggle.certainty = 0.7;
    if (straggle.loss >= kRareLoss) return {straggle};
  }
  return {};
}

class Search {
 public:
  explicit Search(Context& context) : context_(context), arrivals_(context.run, context.matching) {}

  Latenesses Find() {
    all_.rounds = RoundsOf(context_, arrivals_);
    for (const Rounds& rounds : all_.rounds) Look(rounds);
    LookForNobody();
    KeepEachRankOnce();
    return std::move(all_);
  }

 private:
  void Look(const Rounds& rounds) {
    Judgement judgement;
    if (rounds.IsRare())
      judgement.culprits = JudgeRare(rounds);
    else
      judgement = Judge(rounds.times);
    std::vector<Straggle> culprits, starved;
    for (Straggle& straggle : judgement.culprits) {
      if (IsByDesign(context_, rounds, straggle))
        all_.notes.push_back(NoteOfDesign(rounds, straggle));
      else if (!IsCritical(context_, arrivals_, rounds, straggle.rank) || (rounds.covered && !Lasts(straggle)))
        continue;
      else if (IsMostlyCpuWait(context_, rounds, straggle))
        IsStarved(rounds, straggle) ? starved.push_back(straggle) : all_.notes.push_back(NoteOfCpu(rounds, straggle));
      else
        culprits.push_back(std::move(straggle));
    }
    Group(rounds, std::move(culprits), false);
    Group(rounds, std::move(starved), true);
    Sum& sum = sums_[{rounds.group, rounds.processes}];
    sum.blames = sum.blames || !judgement.culprits.empty();
    if (judgement.lost.empty()) return;
    if (!sum.worst || judgement.imbalance > sum.worst_imbalance)
      sum.worst = &rounds, sum.worst_imbalance = judgement.imbalance;
    sum.imbalance += judgement.imbalance;
    sum.explained += 1 - judgement.noise;
    sum.lost.resize(judgement.lost.size());
    for (size_t r = 0; r < judgement.lost.size(); ++r) sum.lost[r] += judgement.lost[r];
  }

  // Again and again, and not by the other ranks of the job.
  bool IsStarved(const Rounds& rounds, const Straggle& straggle) const {
    return Lasts(straggle) && straggle.lost_ns >= kStarvedNs &&
           HasCpuForEach(context_, rounds.processes[straggle.rank]);
  }

  static bool Lasts(const Straggle& straggle) {
    return straggle.shape == Shape::kConstant || straggle.shape == Shape::kOnset || straggle.shape == Shape::kDrift;
  }

  // Over all places of a group together: each is a part of the same turn of the loop.
  void LookForNobody() {
    double noted = 0;
    for (const auto& [of, sum] : sums_) {
      if (sum.blames || !sum.worst || sum.imbalance < kImbalanceNote) continue;
      // Own time is longer by what a rank waits for a CPU: where that was not sampled nobody can tell the two apart.
      // Each wait may be the longest of its moment, so that the others' means say too little of what they hold up.
      constexpr size_t kMostAtOnce = 16;
      std::optional<double> waits = CpuWaitShare(context_, *sum.worst);
      double at_once = static_cast<double>(std::min(kMostAtOnce, sum.worst->times.ranks())) / 2;
      double noise = std::min(1.0, waits.value_or(std::max(0.0, 1 - sum.explained)) * std::max(1.0, at_once));
      if (waits && IsNobodys(sum.imbalance, noise, sum.lost)) {
        if (all_.nobody_in && sum.imbalance <= all_.nobody.imbalance) continue;
        all_.nobody_in = sum.worst;
        all_.nobody = Judgement{{}, sum.imbalance, noise, sum.lost};
      } else if (sum.imbalance > noted && all_.notes.empty()) {
        noted = sum.imbalance;
        NoteImbalance(*sum.worst, sum.imbalance, noise);
      }
    }
  }

  // Half of the ranks or more are no stragglers but the way it is.
  void Group(const Rounds& rounds, std::vector<Straggle> culprits, bool by_cpu) {
    while (!culprits.empty()) {
      Lateness lateness{rounds, {culprits[0]}, 0, by_cpu, false};
      std::vector<Straggle> rest;
      for (size_t i = 1; i < culprits.size(); ++i) {
        bool same = culprits[i].shape == culprits[0].shape && culprits[i].lost_ns * 2 >= culprits[0].lost_ns;
        (same ? lateness.culprits : rest).push_back(culprits[i]);
      }
      lateness.run_loss = culprits[0].lost_ns / static_cast<double>(std::max<int64_t>(1, rounds.loop_ns));
      lateness.by_device = IsByDevice(rounds, culprits[0].rank);
      if (lateness.culprits.size() * 2 <= rounds.times.ranks()) all_.found.push_back(std::move(lateness));
      culprits = std::move(rest);
    }
  }

  static bool IsByDevice(const Rounds& rounds, size_t rank) {
    double local = 0, others = 0, own = 0, of_others = 0;
    for (size_t r = 0; r < rounds.times.ranks(); ++r) {
      double sum = 0;
      for (float ns : rounds.times.own[r]) sum += ns;
      (r == rank ? local : others) += rounds.local_share[r] * sum;
      (r == rank ? own : of_others) += sum;
    }
    double count = static_cast<double>(rounds.times.ranks() - 1);
    return local - others / count > 0.5 * (own - of_others / count);
  }

  void KeepEachRankOnce() {
    std::stable_sort(all_.found.begin(), all_.found.end(), [](const Lateness& a, const Lateness& b) {
      return a.culprits[0].lost_ns > b.culprits[0].lost_ns;
    });
    // What steps tell of a rank, a place tells better, if it is mostly there.
    std::map<size_t, double> at_places;
    for (const Lateness& lateness : all_.found)
      if (size_t process = lateness.rounds.processes[lateness.culprits[0].rank]; !lateness.rounds.IsOfSteps())
        at_places.emplace(process, lateness.culprits[0].lost_ns);
    std::erase_if(all_.found, [&](const Lateness& lateness) {
      auto at_place = at_places.find(lateness.rounds.processes[lateness.culprits[0].rank]);
      return lateness.rounds.IsOfSteps() && at_place != at_places.end() &&
             at_place->second >= kMostly * lateness.culprits[0].lost_ns;
    });
    std::set<size_t> seen;
    std::vector<Lateness> kept;
    for (Lateness& lateness : all_.found) {
      bool is_new = false;
      for (const Straggle& straggle : lateness.culprits)
        is_new = seen.insert(lateness.rounds.processes[straggle.rank]).second || is_new;
      if (is_new) kept.push_back(std::move(lateness));
    }
    all_.found = std::move(kept);
  }

  std::string NoteOfDesign(const Rounds& rounds, const Straggle& straggle) {
    return fmt::format(
        "rank {} alone works for {} in {}, {} times, while the others wait for it: taken as meant (evaluation, saving)",
        context_.rank(rounds.processes[straggle.rank]), DurationText(static_cast<int64_t>(straggle.excess_ns)),
        PlaceText(context_, rounds, straggle.where[0]), straggle.times);
  }

  std::string NoteOfCpu(const Rounds& rounds, const Straggle& straggle) {
    return fmt::format("rank {} is late in {}, mostly by waiting for a CPU ({} in all): taken as the node's load",
                       context_.rank(rounds.processes[straggle.rank]), PlaceText(context_, rounds, straggle.from),
                       DurationText(static_cast<int64_t>(straggle.lost_ns)));
  }

  void NoteImbalance(const Rounds& rounds, double imbalance, double noise) {
    imbalance_note_ = fmt::format(
        "{:.0f} % of the time the slowest rank of the moment holds up the others, nobody's in particular, mostly in "
        "{}; "
        "transfers and ranks kept from a CPU account for up to {:.0f} %",
        imbalance * 100, PlaceText(context_, rounds, rounds.times.rounds() - 1), noise * 100);
  }

 public:
  std::string imbalance_note_;

 private:
  Context& context_;
  Arrivals arrivals_;
  Latenesses all_;

  // Of the places of one group.
  struct Sum {
    const Rounds* worst = nullptr;
    double worst_imbalance = 0, imbalance = 0, explained = 0;
    std::vector<double> lost;  // by rank
    bool blames = false;       // somebody, in one of them
  };
  std::map<std::pair<size_t, std::vector<size_t>>, Sum> sums_;
};

}  // namespace

Latenesses FindLatenesses(Context& context) {
  Search search(context);
  Latenesses all = search.Find();
  if (!search.imbalance_note_.empty() && all.found.empty() && !all.nobody_in)
    all.notes.push_back(search.imbalance_note_);
  return all;
}

std::string PlaceText(Context& context, const Rounds& rounds, size_t k) {
  if (rounds.IsOfSteps()) return "its own code in the steps";
  const Member& member = context.matching.groups[rounds.group].members[0];
  size_t seq = rounds.seqs[k], before = member.calls[seq - 1], call = member.calls[seq];
  auto name = [&](size_t index) {
    const Call& of = context.call(member.process, index);
    std::string line = context.Line(member.process, index), what = CallName(context.process(member.process), of);
    return line.empty() ? what : what + " of " + line;
  };
  if (name(before) == name(call)) return fmt::format("the code from one {} to the next", name(call));
  return fmt::format("the code between {} and {}", name(before), name(call));
}

}  // namespace ddbg::analyzer
