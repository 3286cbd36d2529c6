#include "analyzer/report/skew.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/context/arrivals.h"
#include "analyzer/match/message_times.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"

namespace ddbg::analyzer {
namespace {

int64_t Middle(std::vector<int64_t>& values) {
  auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Nearest rank.
SkewSpread SpreadOf(std::vector<int64_t>& values) {
  SkewSpread spread;
  spread.count = values.size();
  if (values.empty()) return spread;
  auto at = [&](double share) {
    size_t index = std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())));
    std::nth_element(values.begin(), values.begin() + index, values.end());
    return values[index];
  };
  spread.p50_ns = at(0.5), spread.p95_ns = at(0.95), spread.p99_ns = at(0.99);
  spread.max_ns = *std::max_element(values.begin(), values.end());
  return spread;
}

class Measure {
 public:
  Measure(Context& context, const Selection& part)
      : context_(context),
        part_(part),
        window_(part.Window(context.timeline)),
        arrivals_(context.run, context.matching) {}

  SkewReport Take() {
    for (size_t g = 0; g < context_.matching.groups.size(); ++g)
      if (Wanted(context_.matching.groups[g])) AddGroup(g);
    AddMessages();
    Finish();
    return std::move(report_);
  }

 private:
  struct PlaceSums {
    size_t process, call;  // an example
    uint64_t uid;
    std::vector<int64_t> skews;
    int64_t worst = -1, seq = -1, step = -1;
    int32_t rank = -1;
    std::map<int32_t, uint64_t> last;
  };
  struct StepSums {
    std::vector<int64_t> skews;
    int64_t worst = -1, seq = -1;
    int32_t rank = -1;
    size_t place = 0;
  };

  bool Wanted(const CommGroup& group) const {
    if (group.members.size() < 2) return false;
    if (part_.comm.empty()) return true;
    const Member& member = group.members[0];
    return CommMatches(context_.process(member.process), member.comm_id, part_.comm);
  }

  void AddGroup(size_t index) {
    const CommGroup& group = context_.matching.groups[index];
    std::vector<size_t> members;
    for (size_t m = 0; m < group.members.size(); ++m)
      if (part_.HasRank(context_.rank(group.members[m].process))) members.push_back(m);
    if (members.size() < 2) return;
    if (!group.complete()) some_untraced_ = true;
    for (size_t seq = 1; seq < group.longest; ++seq) AddCollective(index, group, members, seq);
    for (size_t m : members)
      hosts_.try_emplace(context_.timeline.HostOf(group.members[m].process), group.members[m].process);
  }

  void AddCollective(size_t index, const CommGroup& group, const std::vector<size_t>& members, size_t seq) {
    entries_.clear(), owns_.clear();
    bool all_own = true;
    for (size_t m : members) {
      const Member& member = group.members[m];
      size_t call = member.At(seq);
      if (call == kNoIndex) return static_cast<void>(report_.incomplete += seq < group.longest);
      entries_.push_back(context_.timeline.At(member.process, context_.call(member.process, call).start_ns));
      std::optional<OwnTime> own = arrivals_.Before(index, m, seq);
      all_own = all_own && own;
      owns_.push_back(own ? own->total() : 0);
    }
    const Member& first = group.members[members[0]];
    int64_t step = context_.steps.NumberOf(first.process, first.calls[seq]);
    if (!part_.HasStep(step)) return;
    size_t last = std::max_element(entries_.begin(), entries_.end()) - entries_.begin();
    int64_t first_ns = *std::min_element(entries_.begin(), entries_.end()), skew = entries_[last] - first_ns;
    if (entries_[last] < window_.first || first_ns > window_.second) return;
    int32_t last_rank = context_.rank(group.members[members[last]].process);
    all_.push_back(skew);
    size_t place = AddToPlace(group, first, seq, step, skew, last_rank);
    if (step >= 0) AddToStep(step, place, seq, skew, last_rank);
    AddToRanks(group, members, last, all_own);
  }

  size_t AddToPlace(const CommGroup& group, const Member& first, size_t seq, int64_t step, int64_t skew, int32_t last) {
    const Call& call = context_.call(first.process, first.calls[seq]);
    auto key = std::make_tuple(group.uid, context_.Site(first.process, call.stack), call.call);
    auto [found, is_new] = place_of_.try_emplace(key, places_.size());
    if (is_new) places_.push_back({first.process, first.calls[seq], group.uid, {}, -1, -1, -1, -1, {}});
    PlaceSums& place = places_[found->second];
    place.skews.push_back(skew);
    ++place.last[last];
    if (skew > place.worst)
      place.worst = skew, place.seq = static_cast<int64_t>(seq), place.step = step, place.rank = last;
    return found->second;
  }

  void AddToStep(int64_t number, size_t place, size_t seq, int64_t skew, int32_t last) {
    StepSums& step = steps_[number];
    step.skews.push_back(skew);
    if (skew > step.worst)
      step.worst = skew, step.seq = static_cast<int64_t>(seq), step.rank = last, step.place = place;
  }

  // What of a rank's lateness against the middle one is its own: no more than its own time exceeds the middle own time.
  void AddToRanks(const CommGroup& group, const std::vector<size_t>& members, size_t last, bool all_own) {
    std::vector<int64_t> sorted = entries_, sorted_own = owns_;
    int64_t middle = Middle(sorted), middle_own = Middle(sorted_own);
    for (size_t i = 0; i < members.size(); ++i) {
      RankLateness& rank = ranks_[context_.rank(group.members[members[i]].process)];
      ++rank.collectives;
      rank.times_last += i == last;
      int64_t late = std::max<int64_t>(0, entries_[i] - middle);
      int64_t own = all_own ? std::clamp<int64_t>(owns_[i] - middle_own, 0, late) : 0;
      rank.own_ns += own, rank.inherited_ns += late - own;
      rank.worst_ns = std::max(rank.worst_ns, late);
    }
  }

  void AddMessages() {
    std::map<std::pair<int32_t, int32_t>, LateSender> senders;
    ForEachMessage(context_.run, context_.messages, [&](const Channel& channel, const MessageTime& time) {
      int32_t from = context_.rank(time.send->process), to = context_.rank(time.receive->process);
      if (!part_.HasRank(from) || !part_.HasRank(to)) return;
      if (part_.steps && !part_.HasStep(context_.steps.NumberOf(time.receive->process, time.receive->call))) return;
      if (!part_.comm.empty() && !CommIs(time, channel)) return;
      int64_t sent = context_.timeline.At(time.send->process, time.sent_ns);
      int64_t from_ns = context_.timeline.At(time.receive->process, time.wait_from_ns);
      int64_t wait = std::min(sent - from_ns, time.received_ns - time.wait_from_ns);
      if (sent < window_.first || from_ns > window_.second) return;
      LateSender& pair = senders[{from, to}];
      pair.sender = from, pair.receiver = to;
      ++pair.messages;
      if (wait <= 0) return;
      ++pair.late;
      pair.waited_ns += wait;
      pair.worst_ns = std::max(pair.worst_ns, wait);
    });
    for (const auto& [key, pair] : senders)
      if (pair.late > 0) report_.senders.push_back(pair);
    std::stable_sort(report_.senders.begin(), report_.senders.end(),
                     [](const LateSender& a, const LateSender& b) { return a.waited_ns > b.waited_ns; });
  }

  bool CommIs(const MessageTime& time, const Channel&) const {
    const Process& process = context_.process(time.receive->process);
    return CommMatches(process, process.calls[time.receive->call].comm, part_.comm);
  }

  void Finish() {
    for (PlaceSums& sums : places_) report_.places.push_back(PlaceOf(sums));
    for (auto& [number, sums] : steps_) {
      const SkewPlace& place = report_.places[sums.place];
      report_.steps.push_back({number, SpreadOf(sums.skews), sums.rank, place.comm, place.call_name, sums.seq});
    }
    std::stable_sort(report_.places.begin(), report_.places.end(),
                     [](const SkewPlace& a, const SkewPlace& b) { return a.skew.p99_ns > b.skew.p99_ns; });
    for (auto& [number, rank] : ranks_) {
      rank.rank = number;
      report_.ranks.push_back(rank);
    }
    report_.all = SpreadOf(all_);
    report_.hosts = hosts_.size();
    report_.clock_error_ns = ClockErrorNs();
    report_.step_source = SourceName(context_.steps.source());
    AddCaveats();
  }

  // Between any two of the hosts, where the run began and where it ended.
  int64_t ClockErrorNs() const {
    int64_t most = 0;
    for (auto a = hosts_.begin(); a != hosts_.end(); ++a)
      for (auto b = std::next(a); b != hosts_.end(); ++b)
        for (int64_t axis_ns : {int64_t{0}, context_.timeline.end_ns()})
          most = std::max(most, context_.timeline.ErrorNs(a->second, b->second, axis_ns));
    return most == kUnknownError ? -1 : most;
  }

  SkewPlace PlaceOf(PlaceSums& sums) {
    SkewPlace place;
    const Process& process = context_.process(sums.process);
    const Call& call = process.calls[sums.call];
    place.comm = CommName(process, call.comm);
    place.comm_uid = sums.uid;
    place.call_name = CallName(process, call);
    place.line = context_.Line(sums.process, sums.call);
    place.skew = SpreadOf(sums.skews);
    place.worst_seq = sums.seq, place.worst_step = sums.step, place.worst_rank = sums.rank;
    for (const auto& [rank, times] : sums.last)
      if (times > place.times_last) place.mostly_last = rank, place.times_last = times;
    return place;
  }

  void AddCaveats() {
    if (some_untraced_) report_.caveats.push_back("some ranks were not traced: only the others are compared");
    if (report_.incomplete > 0)
      report_.caveats.push_back(
          fmt::format("{} collectives that not all traced members made, or of which the detail was lost, "
                      "are left out",
                      report_.incomplete));
    for (const Process& process : context_.run.processes)
      if (process.lost_total() > 0)
        report_.caveats.push_back(
            fmt::format("{} records of rank {} were lost: its own lateness cannot be told from "
                        "inherited",
                        process.lost_total(), process.rank()));
    for (const std::string& sentence : context_.run.unreadable) report_.caveats.push_back(sentence);
  }

  Context& context_;
  const Selection& part_;
  std::pair<int64_t, int64_t> window_;  // of it, on the axis
  Arrivals arrivals_;
  SkewReport report_;
  std::vector<int64_t> all_, entries_, owns_;
  std::map<std::tuple<uint64_t, uint64_t, uint16_t>, size_t> place_of_;
  std::vector<PlaceSums> places_;
  std::map<int64_t, StepSums> steps_;
  std::map<int32_t, RankLateness> ranks_;
  std::map<size_t, size_t> hosts_;  // with a process of each
  bool some_untraced_ = false;
};

}  // namespace

SkewReport MeasureSkew(Context& context, const Selection& part) { return Measure(context, part).Take(); }

}  // namespace ddbg::analyzer
