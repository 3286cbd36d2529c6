#include "analyzer/find/straggler_rounds.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace ddbg::analyzer {
namespace {

// Own times of one group that are looked at: 256 MB as floats. Beyond, the beginning is left out.
constexpr size_t kMostTimes = 64'000'000;
// A member that is looked at for how long a round takes; all leave a collective at about the same time.
constexpr size_t kClocks = 9;
constexpr size_t kMostPlaces = 256;

class GroupRounds {
 public:
  GroupRounds(Context& context, const Arrivals& arrivals, size_t group)
      : context_(context), arrivals_(arrivals), index_(group), group_(context.matching.groups[group]) {}

  void AddTo(std::vector<Rounds>* all) {
    size_t members = group_.members.size();
    if (members < 2 || !group_.complete()) return;
    size_t end = CommonEnd();
    size_t begin = end * members > kMostTimes ? end - kMostTimes / members : 0;
    if (end < begin + 3) return;
    for (size_t seq = begin + 1; seq < end; ++seq) Sort(seq);
    if (first_ == kNoIndex) return;
    int64_t loop_ns = Exit(0, last_) - Exit(0, first_ - 1);
    for (auto& [key, seqs] : places_) {
      if (seqs.size() < 3) continue;
      Rounds rounds = Fill(seqs);
      rounds.loop_ns = loop_ns;
      all->push_back(std::move(rounds));
    }
  }

 private:
  using Place = std::tuple<uint64_t, uint64_t, uint16_t>;  // sites of two calls in a row, and what the second is

  const Call& At(size_t member, size_t seq) const {
    const Member& of = group_.members[member];
    return context_.call(of.process, of.calls[seq]);
  }

  int64_t Exit(size_t member, size_t seq) const {
    const Call& call = At(member, seq);
    return call.start_ns + (call.open() ? 0 : call.duration_ns);
  }

  // Up to the first call that a member did not make or not return from.
  size_t CommonEnd() const {
    size_t end = group_.longest;
    for (size_t m = 0; m < group_.members.size(); ++m) {
      const Member& member = group_.members[m];
      if (context_.process(member.process).lost_total() > 0) return 0;
      end = std::min(end, member.calls.size());
      while (end > 0 && (member.calls[end - 1] == kNoIndex || At(m, end - 1).open())) --end;
    }
    return end;
  }

  // A round needs this call and the one before on all members (an older part of the run may have been dropped).
  bool IsThere(size_t seq) const {
    for (const Member& member : group_.members)
      if (member.calls[seq] == kNoIndex || member.calls[seq - 1] == kNoIndex) return false;
    return true;
  }

  void Sort(size_t seq) {
    if (!IsThere(seq)) return;
    const Call &before = At(0, seq - 1), &call = At(0, seq);
    if (call.open() || before.open() || call.info().kind != CallKind::Collective) return;
    size_t process = group_.members[0].process;
    Place place{context_.Site(process, before.stack), context_.Site(process, call.stack), call.call};
    if (places_.size() >= kMostPlaces && !places_.count(place)) return;
    places_[place].push_back(seq);
    if (first_ == kNoIndex) first_ = seq;
    last_ = seq;
  }

  Rounds Fill(std::vector<size_t>& seqs) {
    Rounds rounds;
    rounds.group = index_;
    size_t members = group_.members.size();
    rounds.times.own.resize(members);
    for (size_t m = 0; m < members; ++m) {
      rounds.processes.push_back(group_.members[m].process);
      rounds.members.push_back(m);
      OwnTime sum;
      for (size_t seq : seqs) {
        OwnTime own = arrivals_.Before(index_, m, seq).value_or(OwnTime{});
        rounds.times.own[m].push_back(static_cast<float>(own.total()));
        sum.host_ns += own.host_ns, sum.local_ns += own.local_ns;
      }
      rounds.local_share.push_back(sum.total() > 0 ? static_cast<double>(sum.local_ns) / sum.total() : 0);
    }
    rounds.times.cycle.resize(seqs.size());
    for (size_t k = 0; k < seqs.size(); ++k) rounds.times.cycle[k] = Cycle(k == 0 ? seqs[k] - 1 : seqs[k - 1], seqs[k]);
    rounds.seqs = std::move(seqs);
    return rounds;
  }

  float Cycle(size_t from, size_t to) const {
    float spans[kClocks];
    size_t count = std::min(kClocks, group_.members.size());
    for (size_t i = 0; i < count; ++i) {
      size_t member = i * group_.members.size() / count;
      spans[i] = static_cast<float>(Exit(member, to) - Exit(member, from));
    }
    std::nth_element(spans, spans + count / 2, spans + count);
    return spans[count / 2];
  }

  Context& context_;
  const Arrivals& arrivals_;
  size_t index_;
  const CommGroup& group_;
  std::map<Place, std::vector<size_t>> places_;
  size_t first_ = kNoIndex, last_ = kNoIndex;  // sequence numbers
};

// Do the collectives tell of the whole job?
bool CoverAll(const Context& context, const std::vector<Rounds>& all) {
  size_t communicating = 0;
  for (const Situation& situation : context.situations.of) communicating += situation.communicates;
  return std::any_of(all.begin(), all.end(), [&](const Rounds& rounds) {
    return !rounds.IsRare() && rounds.processes.size() == communicating;
  });
}

// Steps that all processes which have any have, in their order.
std::vector<int64_t> CommonNumbers(const Context& context, const std::vector<size_t>& processes) {
  std::vector<int64_t> common;
  for (size_t i = 0; i < processes.size(); ++i) {
    std::vector<int64_t> own;
    for (const Step& step : context.steps.of(processes[i])) own.push_back(step.number);
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    if (i == 0) {
      common = std::move(own);
      continue;
    }
    std::vector<int64_t> both;
    std::set_intersection(common.begin(), common.end(), own.begin(), own.end(), std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

void AddSteps(Context& context, bool covered, std::vector<Rounds>* all) {
  Rounds rounds;
  rounds.covered = covered;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (context.process(i).lost_total() > 0) return;
    if (context.situation(i).communicates && !context.steps.of(i).empty()) rounds.processes.push_back(i);
  }
  if (rounds.processes.size() < 2) return;
  std::vector<int64_t> numbers = CommonNumbers(context, rounds.processes);
  if (numbers.size() < kFewestRounds || numbers.front() < 0) return;
  std::vector<float> sums(numbers.size());
  for (size_t process : rounds.processes) {
    std::vector<int64_t> times;
    std::vector<size_t> first;
    for (const Step& step : context.steps.of(process)) {
      if (!std::binary_search(numbers.begin(), numbers.end(), step.number)) continue;
      times.push_back(step.start_ns), times.push_back(step.end_ns), first.push_back(step.first_call);
    }
    if (first.size() != numbers.size()) return;  // a number twice: the program starts again
    std::vector<OwnTime> own = OwnUntil(context.process(process), times);
    std::vector<float> totals;
    OwnTime sum;
    for (size_t k = 0; k < first.size(); ++k) {
      OwnTime of_step = own[2 * k + 1] - own[2 * k];
      totals.push_back(static_cast<float>(of_step.total()));
      sum.host_ns += of_step.host_ns, sum.local_ns += of_step.local_ns;
      sums[k] += static_cast<float>(times[2 * k + 1] - times[2 * k]);
    }
    rounds.local_share.push_back(sum.total() > 0 ? static_cast<double>(sum.local_ns) / sum.total() : 0);
    rounds.times.own.push_back(std::move(totals));
    rounds.calls.push_back(std::move(first));
    rounds.members.push_back(rounds.members.size());
  }
  for (int64_t number : numbers) rounds.seqs.push_back(static_cast<size_t>(number));
  for (float sum : sums) {
    rounds.times.cycle.push_back(sum / static_cast<float>(rounds.processes.size()));
    rounds.loop_ns += static_cast<int64_t>(rounds.times.cycle.back());
  }
  all->push_back(std::move(rounds));
}

}  // namespace

std::vector<Rounds> RoundsOf(Context& context, const Arrivals& arrivals) {
  std::vector<Rounds> all;
  for (size_t g = 0; g < context.matching.groups.size(); ++g) GroupRounds(context, arrivals, g).AddTo(&all);
  AddSteps(context, CoverAll(context, all), &all);
  return all;
}

}  // namespace ddbg::analyzer
