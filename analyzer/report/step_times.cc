#include "analyzer/report/step_times.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kNotMatched = INT64_MIN;

// Intervals whose union is wanted; added in order of their start.
class Union {
 public:
  void Add(int64_t from, int64_t to) {
    from = std::max(from, until_);
    if (to <= from) return;
    total_ += to - from;
    until_ = to;
  }
  int64_t total() const { return total_; }

 private:
  int64_t total_ = 0, until_ = INT64_MIN;
};

bool Blocks(const Call& call) {
  if (!call.known() || (call.flags & (kFlagSecondHalf | kFlagNested))) return false;
  const CallInfo& info = call.info();
  switch (info.kind) {
    case CallKind::CollectiveInit: return false;
    case CallKind::Send:
    case CallKind::Recv:
    case CallKind::Sendrecv:
    case CallKind::Probe:
    case CallKind::Mrecv:
    case CallKind::Start:
    case CallKind::Wait:
    case CallKind::Test:
    case CallKind::BufferDetach:
    case CallKind::BufferFlush:
    case CallKind::Epoch:
    case CallKind::Lock:
    case CallKind::Unlock:
    case CallKind::Flush:
    case CallKind::Rma:
    case CallKind::FileAccess:
    case CallKind::CommInit:
    case CallKind::GroupEnd:
    case CallKind::StreamSync:
    case CallKind::EventSync:
    case CallKind::DeviceSync: return true;
    case CallKind::Copy: return info.shape == CallShape::Blocking;
    default: return ddbg::IsCollective(info.kind);
  }
}

// Nothing else is done in them than to wait.
bool OnlyWaits(const Call& call) {
  switch (call.info().kind) {
    case CallKind::Recv:
    case CallKind::Probe:
    case CallKind::Mrecv: return !call.info().has_request;
    case CallKind::Wait:
    case CallKind::StreamSync:
    case CallKind::EventSync:
    case CallKind::DeviceSync: return true;
    default: return false;
  }
}

// For each call that is a matched collective, when the last member came, on the process's own clock.
std::vector<std::vector<int64_t>> LastArrivals(const Run& run, const Matching& matching, const Timeline& timeline) {
  std::vector<std::vector<int64_t>> last(run.processes.size());
  for (size_t p = 0; p < run.processes.size(); ++p) last[p].assign(run.processes[p].calls.size(), kNotMatched);
  for (const CommGroup& group : matching.groups) {
    std::vector<int64_t> arrivals(group.longest, kNotMatched);
    auto each = [&](auto fn) {
      for (const Member& member : group.members)
        for (size_t seq = 0; seq < member.calls.size(); ++seq)
          if (member.calls[seq] != kNoIndex) fn(member.process, member.calls[seq], &arrivals[seq]);
    };
    each([&](size_t p, size_t call, int64_t* at) {
      *at = std::max(*at, timeline.At(p, run.processes[p].calls[call].start_ns));
    });
    each([&](size_t p, size_t call, int64_t* at) { last[p][call] = timeline.Back(p, *at); });
  }
  return last;
}

class ProcessTimes {
 public:
  ProcessTimes(const Process& process, const std::vector<int64_t>& last_arrival, const std::vector<Phase>& phases)
      : process_(process), last_arrival_(last_arrival), phases_(phases) {}

  StepTimes Of(const Step& step) {
    StepTimes times;
    times.number = step.number;
    times.duration_ns = step.end_ns - step.start_ns;
    Union in_calls, waits, busy;
    int64_t first_call = step.end_ns;
    std::vector<std::pair<int64_t, int64_t>> covered;
    for (size_t i = step.first_call; i < step.end_call; ++i) {
      const Call& call = process_.calls[i];
      if (!Blocks(call)) continue;
      int64_t end = call.open() ? step.end_ns : call.start_ns + call.duration_ns;
      int64_t from = std::max(call.start_ns, step.start_ns), to = std::min(end, step.end_ns);
      if (to < from) continue;
      first_call = std::min(first_call, from);
      in_calls.Add(from, to);
      covered.emplace_back(from, to);
      int64_t until = OnlyWaits(call) ? to
                      : i < last_arrival_.size() && last_arrival_[i] != kNotMatched && !call.info().has_request
                          ? call.open() ? to : last_arrival_[i]
                          : from;
      waits.Add(from, std::min(until, to));
      times.open = times.open || call.open();
    }
    AddPhases(step, &times, &covered);
    std::sort(covered.begin(), covered.end());
    for (const auto& [from, to] : covered) busy.Add(from, to);
    times.calls_ns = in_calls.total();
    times.wait_ns = waits.total();
    times.lead_ns = first_call - step.start_ns;
    times.own_ns = times.duration_ns - busy.total();
    return times;
  }

 private:
  void AddPhases(const Step& step, StepTimes* times, std::vector<std::pair<int64_t, int64_t>>* covered) {
    // Phases are by start; those that ended before this step are passed for good, which long ones hold up.
    while (next_ < phases_.size() && phases_[next_].end_ns <= step.start_ns) ++next_;
    for (size_t i = next_; i < phases_.size() && phases_[i].start_ns < step.end_ns; ++i) {
      int64_t from = std::max(phases_[i].start_ns, step.start_ns), to = std::min(phases_[i].end_ns, step.end_ns);
      if (to <= from || (from == step.start_ns && to == step.end_ns)) continue;  // one that is the step, or around it
      times->phases[phases_[i].name] += to - from;
      covered->emplace_back(from, to);
    }
  }

  const Process& process_;
  const std::vector<int64_t>& last_arrival_;
  const std::vector<Phase>& phases_;
  size_t next_ = 0;
};

}  // namespace

std::vector<StepTimes> TimesOfSteps(const Run& run, const Matching& matching, const Steps& steps,
                                    const Timeline& timeline, const std::vector<std::vector<Phase>>& phases) {
  std::vector<StepTimes> all;
  std::vector<std::vector<int64_t>> last_arrivals = LastArrivals(run, matching, timeline);
  for (size_t p = 0; p < run.processes.size(); ++p) {
    ProcessTimes times(run.processes[p], last_arrivals[p], phases[p]);
    for (const Step& step : steps.of(p)) {
      StepTimes one = times.Of(step);
      one.process = p;
      one.start_ns = timeline.At(p, step.start_ns);
      all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace ddbg::analyzer
