#include "analyzer/report/run_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/model/call_fields.h"
#include "analyzer/report/call_lanes.h"
#include "analyzer/report/env_diff.h"
#include "analyzer/report/site_times.h"

namespace ddbg::analyzer {
namespace {

using Signatures = std::vector<uint64_t>;

// How two sequences differ first.
struct Split {
  size_t prefix = 0;              // equal calls at the beginning
  size_t missing = 0, extra = 0;  // calls of the good and of the bad one alone; behind them they are equal again
  bool equal_again = false;       // for the rest, or for a while
  bool to_the_end = false;        // they are equal from there to the end
};

bool EqualFrom(const Signatures& good, size_t g, const Signatures& bad, size_t b) {
  constexpr size_t kEnough = 4;
  for (size_t k = 0; k < kEnough; ++k) {
    if (g + k == good.size() && b + k == bad.size()) return k > 0;
    if (g + k >= good.size() || b + k >= bad.size()) return k > 0;
    if (good[g + k] != bad[b + k]) return false;
  }
  return true;
}

// What lies between a common beginning and a common end says it all in the common cases: a call too many, a loop with
// other turns. Else the nearest place where both go on alike is looked for.
Split FindSplit(const Signatures& good, const Signatures& bad) {
  Split split;
  size_t least = std::min(good.size(), bad.size());
  while (split.prefix < least && good[split.prefix] == bad[split.prefix]) ++split.prefix;
  size_t suffix = 0;
  while (suffix < least - split.prefix && good[good.size() - 1 - suffix] == bad[bad.size() - 1 - suffix]) ++suffix;
  if (split.prefix + suffix == least) {
    split.missing = good.size() - least;
    split.extra = bad.size() - least;
    split.equal_again = split.to_the_end = true;
    return split;
  }
  constexpr size_t kReach = 256;
  for (size_t distance = 1; distance <= kReach; ++distance) {
    for (size_t a = 0; a <= distance; ++a) {
      size_t g = split.prefix + a, b = split.prefix + (distance - a);
      if (g > good.size() || b > bad.size() || !EqualFrom(good, g, bad, b)) continue;
      split.missing = a;
      split.extra = distance - a;
      split.equal_again = true;
      return split;
    }
  }
  return split;
}

// Length of a turn if all of [from, end) is turns of what came just before it; 0 if not.
size_t TurnLength(const Signatures& calls, size_t from, size_t end) {
  size_t length = end - from;
  for (size_t turn = 1; turn <= std::min(length, from); ++turn) {
    if (length % turn != 0) continue;
    bool repeats = true;
    for (size_t i = from; i < end && repeats; ++i) repeats = calls[i] == calls[i - turn];
    if (repeats) return turn;
  }
  return 0;
}

bool EndedWell(const Process& process) { return process.end.how == ProcessEnd::kExited && process.end.code == 0; }

class Comparer {
 public:
  Comparer(const RunDiffInput& input, StackViews* views)
      : good_(input.good), bad_(input.bad), views_(views), bad_timeline_(input.bad) {
    diff_.by_function = input.by_function || BuiltAnew();
  }

  RunDiff Compare() {
    std::map<int32_t, size_t> good = ByRank(good_), bad = ByRank(bad_);
    for (const auto& [rank, process] : good)
      if (!bad.count(rank)) diff_.only_good.push_back(rank);
    for (const auto& [rank, process] : bad)
      if (!good.count(rank)) diff_.only_bad.push_back(rank);
    SiteTimes good_times(good_), bad_times(bad_);
    for (const auto& [rank, process] : good) {
      auto other = bad.find(rank);
      if (other == bad.end()) continue;
      ++diff_.ranks;
      CompareRank(rank, process, other->second, &good_times, &bad_times);
    }
    DropExplainedTurns();
    Order();
    diff_.slower = FindSlower(good_times, bad_times);
    AddCaveats();
    return std::move(diff_);
  }

 private:
  // Offsets of another build say nothing; its functions do.
  bool BuiltAnew() const {
    auto builds = [](const Run& run) {
      std::set<std::string> ids;
      for (const Process& process : run.processes) {
        if (process.rank() < 0) continue;
        ids.insert(process.git_commit);
        for (const Module& module : process.modules)
          if (module.path == process.exe) ids.insert(module.build_id);
      }
      return ids;
    };
    return builds(good_) != builds(bad_);
  }

  static std::map<int32_t, size_t> ByRank(const Run& run) {
    std::map<int32_t, size_t> processes;
    for (size_t index : RankProcesses(run))
      if (run.processes[index].rank() >= 0) processes.emplace(run.processes[index].rank(), index);
    return processes;
  }

  void CompareRank(int32_t rank, size_t good, size_t bad, SiteTimes* good_times, SiteTimes* bad_times) {
    CallLanes own(good_.processes[good], diff_.by_function, views_);
    CallLanes others(bad_.processes[bad], diff_.by_function, views_);
    std::map<uint64_t, const CallLane*> of_bad;
    for (const CallLane& lane : others.lanes()) of_bad[lane.key] = &lane;
    CallLane none;
    for (const CallLane& lane : own.lanes()) {
      diff_.calls += lane.calls.size();
      auto other = of_bad.find(lane.key);
      CompareLane({rank, good, bad}, lane, other == of_bad.end() ? none : *other->second, &own, &others);
      if (other != of_bad.end()) of_bad.erase(other);
    }
    for (const CallLane& lane : others.lanes())
      if (of_bad.count(lane.key)) CompareLane({rank, good, bad}, none, lane, &own, &others);
    good_times->Add(good, &own, views_);
    bad_times->Add(bad, &others, views_);
  }

  struct Pair {
    int32_t rank;
    size_t good, bad;
  };

  void CompareLane(const Pair& pair, const CallLane& good, const CallLane& bad, CallLanes* own, CallLanes* others) {
    Split split = FindSplit(good.signatures, bad.signatures);
    if (split.prefix == good.calls.size() && split.prefix == bad.calls.size()) return;
    StructuralDifference d;
    d.lane = good.calls.empty() ? bad.name : good.name;
    d.position = split.prefix;
    d.ranks = {pair.rank};
    d.good_process = pair.good, d.bad_process = pair.bad;
    if (split.prefix < good.calls.size()) d.good_call = good.calls[split.prefix];
    if (split.prefix < bad.calls.size()) d.bad_call = bad.calls[split.prefix];
    const Process& good_process = good_.processes[pair.good];
    const Process& bad_process = bad_.processes[pair.bad];
    bool one_sided = split.equal_again && (split.missing == 0 || split.extra == 0);
    bool whole = EndedWell(bad_process) && EndedWell(good_process);
    if (one_sided) {
      bool more = split.extra > 0;
      d.calls = split.missing + split.extra;
      d.kind = more ? StructuralDifference::kExtra : StructuralDifference::kMissing;
      if (!more && split.prefix == bad.calls.size() && !EndedWell(bad_process))
        d.kind = StructuralDifference::kEndsEarly;
      const Signatures& longer = more ? bad.signatures : good.signatures;
      size_t turn = split.to_the_end && whole ? TurnLength(longer, split.prefix, split.prefix + d.calls) : 0;
      if (turn > 0) {
        d.kind = StructuralDifference::kRepetitions;
        d.turns = static_cast<int64_t>(d.calls / turn) * (more ? 1 : -1);
        d.calls = turn;
      }
    } else if (d.good_call != kNoIndex && d.bad_call != kNoIndex) {
      auto change = own->Compare(good_process.calls[d.good_call], *others, bad_process.calls[d.bad_call]);
      d.field = change.field, d.expected = change.expected, d.actual = change.actual;
    }
    d.bad_ns = WhenShown(pair.bad, bad, split.prefix);
    Merge(std::move(d));
  }

  // On the bad run's axis: the call that differs, or where one was to come: behind the last that was right.
  int64_t WhenShown(size_t process, const CallLane& lane, size_t position) const {
    const std::vector<Call>& calls = bad_.processes[process].calls;
    if (position < lane.calls.size()) return bad_timeline_.At(process, calls[lane.calls[position]].start_ns);
    if (lane.calls.empty()) return bad_timeline_.At(process, bad_.processes[process].start_monotonic_ns);
    const Call& last = calls[lane.calls.back()];
    return bad_timeline_.At(process, last.start_ns + std::max<int64_t>(0, last.duration_ns));
  }

  using Sameness = std::tuple<int, std::string, uint64_t, uint64_t, int64_t, std::string, std::string, std::string>;

  // Ranks that differ in the same way are one difference.
  void Merge(StructuralDifference d) {
    Sameness same{d.kind, d.lane, d.position, d.calls, d.turns, d.field, d.expected, d.actual};
    auto [known, fresh] = by_kind_.try_emplace(same, diff_.structural.size());
    if (fresh) return diff_.structural.push_back(std::move(d));
    StructuralDifference& first = diff_.structural[known->second];
    std::vector<int32_t> ranks = std::move(first.ranks);
    ranks.push_back(d.ranks.front());
    if (d.bad_ns < first.bad_ns) first = std::move(d);
    first.ranks = std::move(ranks);
  }

  // A loop that turned more often did so for the messages in it too: the collectives say it.
  void DropExplainedTurns() {
    std::map<int32_t, int64_t> turns;  // by rank
    auto is_collective = [](const StructuralDifference& d) { return d.lane.starts_with("collectives"); };
    for (const StructuralDifference& d : diff_.structural)
      if (d.kind == StructuralDifference::kRepetitions && is_collective(d))
        for (int32_t rank : d.ranks) turns.emplace(rank, d.turns);
    std::erase_if(diff_.structural, [&](const StructuralDifference& d) {
      if (d.kind != StructuralDifference::kRepetitions || is_collective(d)) return false;
      return std::all_of(d.ranks.begin(), d.ranks.end(), [&](int32_t rank) {
        auto of_rank = turns.find(rank);
        return of_rank != turns.end() && d.turns % of_rank->second == 0 && (d.turns > 0) == (of_rank->second > 0);
      });
    });
  }

  // A sequence that merely ends says less than a call that is wrong: the hang or crash it ends by has a cause before
  // it.
  void Order() {
    auto late = [](const StructuralDifference& d) {
      return d.kind == StructuralDifference::kRepetitions ? 2 : d.kind == StructuralDifference::kEndsEarly ? 1 : 0;
    };
    std::stable_sort(diff_.structural.begin(), diff_.structural.end(),
                     [&](const StructuralDifference& a, const StructuralDifference& b) {
                       return std::tuple(late(a), a.bad_ns) < std::tuple(late(b), b.bad_ns);
                     });
  }

  void AddCaveats() {
    for (const Run* run : {&good_, &bad_}) {
      const char* which = run == &good_ ? "good" : "bad";
      uint64_t lost = 0, dropped = 0;
      for (const Process& process : run->processes) lost += process.lost_total(), dropped += process.dropped.records;
      if (lost)
        diff_.caveats.push_back(fmt::format("the {} run lost {} records: calls may seem to be missing", which, lost));
      if (dropped)
        diff_.caveats.push_back(fmt::format("the {} run has the detail of {} older records no more", which, dropped));
    }
    if (diff_.by_function)
      diff_.caveats.push_back(
          "call sites are compared by function, not by line: the program is of another build or commit");
    if (diff_.ranks == 0) diff_.caveats.push_back("the runs have no rank in common: nothing was compared");
  }

  const Run& good_;
  const Run& bad_;
  StackViews* views_;
  Timeline bad_timeline_;
  RunDiff diff_;
  std::map<Sameness, size_t> by_kind_;
};

}  // namespace

RunDiff CompareCalls(const RunDiffInput& input, StackViews* views) { return Comparer(input, views).Compare(); }

}  // namespace ddbg::analyzer
