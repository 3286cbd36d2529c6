#include "analyzer/steps/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"
#include "analyzer/steps/loop_finder.h"
#include "analyzer/steps/step_calls.h"
#include "analyzer/steps/step_marks.h"
#include "analyzer/steps/step_spread.h"

namespace ddbg::analyzer {
namespace {

// A process whose loop was found.
struct Found {
  size_t process = 0;
  StepCalls calls;
  Loop loop;
  bool cut_off = false;
};

// The detail before its first call is gone: collectives do not count from 0.
bool IsCutOff(const Process& process) {
  if (process.dropped.until_ns > 0) return true;
  std::set<uint32_t> seen;
  for (const Call& call : process.calls) {
    if (!call.known() || !IsCollective(call) || call.comm == 0 || call.info().shape == CallShape::CreateGroup) continue;
    if (seen.insert(call.comm).second && call.seq > 0) return true;
    if (seen.size() > 64) break;
  }
  return false;
}

std::optional<Found> LoopOf(const Run& run, size_t process) {
  Found found;
  found.process = process;
  found.calls = StepCallsOf(run.processes[process]);
  found.cut_off = IsCutOff(run.processes[process]);
  std::optional<Loop> loop = FindLoop(found.calls.calls, found.cut_off);
  bool alike = loop && (loop->last.size() < 4 || loop->odd_turns * 2 <= loop->last.size());
  if (!alike) return std::nullopt;
  found.loop = *std::move(loop);
  return found;
}

// Processes that communicate and whose steps are not known.
std::vector<size_t> Unknown(const Run& run, const std::vector<TurnEdges>& edges) {
  std::vector<size_t> ranks;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const std::vector<Call>& calls = run.processes[i].calls;
    if (edges[i].empty() && std::any_of(calls.begin(), calls.end(), IsStepCall)) ranks.push_back(i);
  }
  return ranks;
}

// Of these the ones to look at: the one with most calls, and the first, middle and last, since stages of a pipeline
// differ.
std::vector<size_t> Representatives(const Run& run, const std::vector<size_t>& ranks) {
  if (ranks.empty()) return {};
  size_t most = *std::max_element(ranks.begin(), ranks.end(), [&](size_t a, size_t b) {
    return run.processes[a].calls.size() < run.processes[b].calls.size();
  });
  std::vector<size_t> chosen = {most};
  for (size_t one : {ranks.front(), ranks[ranks.size() / 2], ranks.back()})
    if (std::find(chosen.begin(), chosen.end(), one) == chosen.end()) chosen.push_back(one);
  return chosen;
}

int64_t SpanOf(const Found& found) {
  const std::vector<LoopCall>& calls = found.calls.calls;
  return calls[found.loop.last.back()].start_ns - calls[found.loop.first].start_ns;
}

// On some a loop within the step may be as regular as the step, on others it is not: of those that see the same time
// the one with the fewest turns is right. Of equals the one whose turns lack least, since a rank that errs is no
// measure, then the one with most of them, which others may have left early.
bool IsBetter(const Found& a, const Found& b) {
  double turns = static_cast<double>(a.loop.last.size()), others = static_cast<double>(b.loop.last.size());
  if (others >= 1.8 * turns && SpanOf(a) * 10 >= SpanOf(b) * 7) return true;
  if (turns >= 1.8 * others && SpanOf(b) * 10 >= SpanOf(a) * 7) return false;
  // One more may be the one that ends the recording.
  bool similar = std::abs(turns - others) <= 1.0 + 0.02 * others;
  if (similar && a.loop.lacking_turns != b.loop.lacking_turns) return a.loop.lacking_turns < b.loop.lacking_turns;
  auto begun = [](const Loop& loop) { return loop.open_end - loop.last.back(); };
  return turns != others ? turns > others : begun(a.loop) > begun(b.loop);
}

std::optional<Found> BestLoop(const Run& run, const std::vector<size_t>& ranks) {
  std::vector<Found> all;
  for (size_t process : Representatives(run, ranks))
    if (std::optional<Found> found = LoopOf(run, process)) all.push_back(*std::move(found));
  if (all.empty()) return std::nullopt;
  size_t best = 0;
  for (size_t i = 1; i < all.size(); ++i)
    if (IsBetter(all[i], all[best])) best = i;
  return std::move(all[best]);
}

// Turn 0 of a process whose beginning is gone: as many turns came before as its sequence numbers allow.
int64_t FirstNumber(const Process& process, const Found& found) {
  if (!found.cut_off || found.loop.last.size() < 2) return 0;
  std::map<uint32_t, int64_t> a_turn;
  size_t turn = found.loop.last.size() / 2;
  for (size_t i = found.loop.last[turn - 1] + 1; i <= found.loop.last[turn]; ++i) {
    const Call& call = process.calls[found.calls.index[i]];
    if (call.known() && IsCollective(call)) ++a_turn[call.comm];
  }
  int64_t number = 0;
  for (size_t i = found.loop.first; i <= found.loop.last[0]; ++i) {
    const Call& call = process.calls[found.calls.index[i]];
    auto times = a_turn.find(call.comm);
    if (call.known() && IsCollective(call) && times != a_turn.end())
      number = std::max(number, static_cast<int64_t>(call.seq) / times->second);
  }
  return number;
}

TurnEdges EdgesOf(const Process& process, const Found& found) {
  const std::vector<size_t>& index = found.calls.index;
  TurnEdges edges;
  size_t begin = found.loop.first > 0 ? index[found.loop.first - 1] + 1 : index[0];
  for (size_t c = 0; found.loop.first == 0 && c < index[0]; ++c)
    if (process.calls[c].known() && process.calls[c].info().kind == CallKind::Init) begin = c + 1;
  edges.push_back(begin);
  for (size_t last : found.loop.last) edges.push_back(index[last] + 1);
  edges.push_back(found.loop.open_end > 0 ? index[found.loop.open_end - 1] + 1 : edges.back());
  return edges;
}

TurnEnd EndOf(const Process& process, const Found& found) {
  CallKinds kinds(process);
  TurnEnd end;
  end.calls_a_turn = found.loop.calls_a_turn;
  std::map<uint64_t, size_t> times;
  for (size_t last : found.loop.last) {
    const Call& call = process.calls[found.calls.index[last]];
    uint64_t alike = kinds.Alike(call);
    if (++times[alike] > times[end.alike]) end.alike = alike;
    bool collective = call.known() && IsCollective(call);
    end.exact.push_back(collective ? kinds.Exact(call) : 0);
    end.comm_uid.push_back(collective ? UidOf(process, call) : 0);
  }
  return end;
}

std::string HowInferred(const Process& process, const Found& found) {
  const Call& call = process.calls[found.calls.index[found.loop.delimiter]];
  std::string odd = found.loop.odd_turns ? fmt::format("; {} of {} turns have other calls than most",
                                                       found.loop.odd_turns, found.loop.last.size())
                                         : "";
  std::string cut =
      found.cut_off ? "; the beginning is not recorded, so that the numbers may be off by the same on all ranks" : "";
  std::string few = found.loop.last.size() < 3 ? "; so few turns were seen that this is a guess" : "";
  return fmt::format(
      "inferred from what recurs in the calls, counted from 0: {} once a turn of {} call{}, seen on rank {}{}{}{}",
      DescribeCall(process, call), found.loop.calls_a_turn, found.loop.calls_a_turn == 1 ? "" : "s", process.rank(),
      odd, cut, few);
}

// Do turns have as many calls as each other, half of them at least?
bool IsRegular(const Process& process, const std::vector<Step>& steps) {
  if (steps.size() < 4) return true;
  std::map<size_t, size_t> times;
  for (size_t k = 0; k + 1 < steps.size(); ++k) {
    size_t count = 0;
    for (size_t c = steps[k].first_call; c < steps[k].end_call; ++c) count += IsStepCall(process.calls[c]);
    ++times[count];
  }
  // Turns without any call are not there.
  size_t turns = static_cast<size_t>(steps.back().number - steps.front().number);
  if ((turns - (steps.size() - 1)) * 20 > turns) return false;
  auto most =
      std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->second * 2 >= turns;
}

// A loop of one rank alone, such as a worker's that gets tasks as it comes, cuts what the others do into unlike pieces.
bool AreRegular(const Run& run, const std::vector<std::vector<Step>>& steps) {
  constexpr size_t kSample = 64;
  std::vector<size_t> some;
  for (size_t i = 0; i < steps.size(); ++i)
    if (!steps[i].empty()) some.push_back(i);
  size_t regular = 0, stride = some.size() / kSample + 1, looked = 0;
  for (size_t i = 0; i < some.size(); i += stride, ++looked)
    regular += IsRegular(run.processes[some[i]], steps[some[i]]);
  return regular * 4 >= looked * 3;
}

int64_t EndNs(const Process& process, const Call& call) {
  return call.open() ? std::max(process.last_seen_ns, call.start_ns) : call.start_ns + call.duration_ns;
}

// Inferred steps follow each other without gaps: the program's own work before its first call is part of a step.
std::vector<Step> StepsWithin(const Process& process, const TurnEdges& edges, int64_t first_number) {
  std::vector<Step> steps;
  if (edges.empty() || edges[0] >= process.calls.size()) return steps;
  int64_t start = edges[0] > 0 ? EndNs(process, process.calls[edges[0] - 1]) : process.calls[edges[0]].start_ns;
  start = std::min(start, process.calls[edges[0]].start_ns);
  for (size_t k = 0; k + 1 < edges.size(); ++k) {
    if (edges[k] == edges[k + 1]) continue;
    int64_t end = std::max(start, EndNs(process, process.calls[edges[k + 1] - 1]));
    steps.push_back({first_number + static_cast<int64_t>(k), start, end, edges[k], edges[k + 1]});
    start = end;
  }
  return steps;
}

std::vector<Step> MarkedStepsOf(const Process& process, const TurnEdges& edges, const std::vector<int64_t>& numbers) {
  std::vector<Step> steps;
  for (size_t k = 0; k + 1 < edges.size(); ++k) {
    if (edges[k] == edges[k + 1]) continue;
    bool last = edges[k + 1] == edges.back();
    int64_t start = process.calls[edges[k]].start_ns;
    int64_t end = last || edges[k + 1] >= process.calls.size() ? EndNs(process, process.calls[edges[k + 1] - 1])
                                                               : process.calls[edges[k + 1]].start_ns;
    steps.push_back({numbers[k], start, std::max(start, end), edges[k], edges[k + 1]});
  }
  return steps;
}

// Has the process gone past its loop, as far as its end tells?
bool HasEnded(const Process& process) {
  if (process.end.how == ProcessEnd::kExited && process.end.code == 0) return true;
  return std::any_of(process.calls.rbegin(), process.calls.rend(),
                     [](const Call& call) { return call.known() && call.info().kind == CallKind::Finalize; });
}

// Where a turn was begun and not ended by anyone, all who are still there are in it, whatever they do: who does
// something else than the others is what is looked for.
void HoldAllInOpenTurn(const Run& run, std::vector<TurnEdges>* edges) {
  auto is_open = [](const TurnEdges& of) { return of.size() > 1 && of.back() > of[of.size() - 2]; };
  if (std::none_of(edges->begin(), edges->end(), is_open)) return;
  for (size_t i = 0; i < edges->size(); ++i)
    if (!(*edges)[i].empty() && !HasEnded(run.processes[i])) (*edges)[i].back() = run.processes[i].calls.size();
}

}  // namespace

Steps::Steps(const Run& run, const Matching& matching) : steps_(run.processes.size()) {
  if (MarkedSteps marked = FindMarkedSteps(run); !marked.how.empty()) {
    source_ = StepSource::kMarks;
    how_ = marked.how;
    std::vector<TurnEdges> edges = marked.edges;
    SpreadTurns(run, matching, {}, &edges);
    for (size_t i = 0; i < run.processes.size(); ++i)
      steps_[i] = MarkedStepsOf(run.processes[i], edges[i], marked.numbers);
    return;
  }
  Infer(run, matching);
}

void Steps::Infer(const Run& run, const Matching& matching) {
  // Parts of a job that have nothing to do with each other have a loop each; they are few.
  constexpr size_t kMostParts = 16;
  std::vector<TurnEdges> edges(run.processes.size());
  size_t communicate = Unknown(run, edges).size(), with_steps = 0;
  for (size_t part = 0; part < kMostParts; ++part) {
    std::optional<Found> found = BestLoop(run, Unknown(run, edges));
    if (!found) break;
    const Process& process = run.processes[found->process];
    std::vector<TurnEdges> of_part(run.processes.size());
    of_part[found->process] = EdgesOf(process, *found);
    SpreadTurns(run, matching, EndOf(process, *found), &of_part);
    HoldAllInOpenTurn(run, &of_part);
    int64_t first = FirstNumber(process, *found);
    for (size_t i = 0; i < run.processes.size(); ++i) {
      if (of_part[i].empty() || !edges[i].empty()) continue;
      steps_[i] = StepsWithin(run.processes[i], of_part[i], first);
      with_steps += steps_[i].size() * 2 >= found->loop.last.size();
      edges[i] = std::move(of_part[i]);
    }
    if (part == 0) how_ = HowInferred(process, *found);
  }
  if (with_steps > 0 && with_steps * 2 >= communicate && AreRegular(run, steps_)) {
    source_ = StepSource::kInferred;
    return;
  }
  for (std::vector<Step>& of_process : steps_) of_process.clear();
  how_ =
      with_steps == 0
          ? "no steps: the program marked none, and nothing in the order of its calls recurs often enough to be a step"
          : "no steps: the program marked none, and what recurs on some ranks has no counterpart on most of the others";
}

int64_t Steps::NumberOf(size_t process, size_t call) const {
  const std::vector<Step>& steps = steps_[process];
  auto after = std::partition_point(steps.begin(), steps.end(), [&](const Step& s) { return s.end_call <= call; });
  return after == steps.end() || after->first_call > call ? -1 : after->number;
}

int64_t Steps::NumberAt(size_t process, int64_t t_ns) const {
  const std::vector<Step>& steps = steps_[process];
  auto after = std::partition_point(steps.begin(), steps.end(), [&](const Step& s) { return s.end_ns <= t_ns; });
  return after == steps.end() || after->start_ns > t_ns ? -1 : after->number;
}

const char* SourceName(StepSource source) {
  switch (source) {
    case StepSource::kMarks: return "marks";
    case StepSource::kInferred: return "inferred";
    default: return "";
  }
}

}  // namespace ddbg::analyzer
