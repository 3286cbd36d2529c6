// A rank that could not run: stopped by a signal, held by a debugger, frozen with its cgroup. While it stands it is why
// the others wait; where it is over it cost the job that time.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analyzer/context/context.h"
#include "analyzer/load/telemetry.h"
#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

// A look with a debugger (gdb -batch, py-spy) and a stop by hand that was a mistake are over before.
constexpr int64_t kLeastNs = 3'000'000'000;
constexpr int64_t kHungNs = 30'000'000'000;  // who waits for as long before waits for something else
constexpr int64_t kSlackNs = 2'000'000'000;  // entries come once a second, and a busy collector may be late

struct Stop {
  size_t process;
  StateInterval interval;
};

// Until when it lasted, at the least.
int64_t LastedUntil(const Context& context, const Stop& stop) {
  const ProcessEnd& end = context.process(stop.process).end;
  if (stop.interval.over) return stop.interval.to_ns;
  int64_t last_ns = context.LastNs(stop.process);
  return std::max(stop.interval.to_ns, end.how == ProcessEnd::kRunning ? last_ns : std::min(end.t_ns, last_ns));
}

bool IsStandingAtEnd(const Context& context, const Stop& stop) {
  return !stop.interval.over || stop.interval.to_ns >= context.LastNs(stop.process);
}

// How long another rank was in one blocking call at this time, and since when it had been in it.
struct Wait {
  int64_t overlap_ns = 0, since_ns = 0;
  size_t process = kNoIndex, call = kNoIndex;
};

Wait LongestWait(const Context& context, const std::vector<Stop>& stopped, int64_t from_ns, int64_t to_ns) {
  Wait longest;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    bool is_stopped = std::any_of(stopped.begin(), stopped.end(), [&](const Stop& s) { return s.process == i; });
    bool same_host = context.process(i).host == context.process(stopped[0].process).host;
    if (is_stopped || !context.situation(i).communicates) continue;
    // Of another host the clock is another; its waits are told, but not by these times.
    if (!same_host) continue;
    const std::vector<Call>& calls = context.process(i).calls;
    for (size_t c = 0; c < calls.size() && calls[c].start_ns < to_ns; ++c) {
      if (!calls[c].known() || IsPoll(calls[c])) continue;
      int64_t end = calls[c].open() ? context.LastNs(i) : calls[c].start_ns + calls[c].duration_ns;
      int64_t overlap = std::min(end, to_ns) - std::max(calls[c].start_ns, from_ns);
      if (overlap > longest.overlap_ns) longest = {overlap, calls[c].start_ns, i, c};
    }
  }
  return longest;
}

bool AnyOnOtherHost(const Context& context, size_t process) {
  return std::any_of(context.run.processes.begin(), context.run.processes.end(), [&](const Process& other) {
    return other.host != context.process(process).host && !other.calls.empty();
  });
}

std::string HowStopped(const StateInterval& interval) {
  if (interval.state == 't') return fmt::format("held by a debugger (pid {})", interval.tracer);
  if (interval.state == 'F') return "frozen with its cgroup";
  return "stopped by a signal (SIGSTOP, SIGTSTP, SIGTTIN or SIGTTOU)";
}

// Those that stopped together, as the ranks of a node or a container do.
std::vector<std::vector<Stop>> Together(std::vector<Stop> stops) {
  std::sort(stops.begin(), stops.end(),
            [](const Stop& a, const Stop& b) { return a.interval.from_ns < b.interval.from_ns; });
  std::vector<std::vector<Stop>> groups;
  for (const Stop& stop : stops) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<Stop>& g) {
      return stop.interval.from_ns - g[0].interval.from_ns <= kSlackNs &&
             std::llabs(stop.interval.to_ns - g[0].interval.to_ns) <= kSlackNs &&
             stop.interval.over == g[0].interval.over;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), std::vector<Stop>());
    if (std::none_of(group->begin(), group->end(), [&](const Stop& s) { return s.process == stop.process; }))
      group->push_back(stop);
  }
  return groups;
}

size_t CallAt(const Context& context, size_t process, int64_t t_ns) {
  const std::vector<Call>& calls = context.process(process).calls;
  auto after =
      std::upper_bound(calls.begin(), calls.end(), t_ns, [](int64_t t, const Call& call) { return t < call.start_ns; });
  while (after != calls.begin())
    if ((--after)->known() && !IsPoll(*after)) return static_cast<size_t>(after - calls.begin());
  return kNoIndex;
}

Finding Report(Context& context, const std::vector<Stop>& group, const Wait& wait, bool stands) {
  const Stop& first = group[0];
  int64_t until = LastedUntil(context, first);
  double seconds = static_cast<double>(until - first.interval.from_ns) / 1e9;
  Finding finding;
  finding.kind = "frozen";
  finding.proof = stands ? Proof::kOwnEnd : Proof::kTiming;
  for (const Stop& stop : group) finding.culprit_ranks.push_back(context.rank(stop.process));
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  finding.first = context.Event(first.process, CallAt(context, first.process, first.interval.from_ns));
  finding.first.field = "process state";
  finding.first.expected = "running";
  finding.first.actual = first.interval.state == 'F' ? "frozen" : first.interval.state == 't' ? "traced" : "stopped";
  finding.first.t_ns = std::clamp(finding.first.t_ns, context.timeline.At(first.process, first.interval.before_ns),
                                  context.timeline.At(first.process, first.interval.from_ns));
  finding.summary =
      fmt::format("{} {} {}{} for {:.1f} s{}.", RankList(finding.culprit_ranks),
                  group.size() == 1 ? (stands ? "is" : "was") : (stands ? "are" : "were"), HowStopped(first.interval),
                  stands ? "," : "", seconds, stands ? "" : ", and went on then");
  if (stands) finding.summary.insert(finding.summary.size() - 1, " and has not gone on");
  finding.evidence.push_back(fmt::format(
      "state {} from {} to {} after the first call of rank {}, as sampled once a second (it stopped up to {} before)",
      first.interval.state == 'F' ? "frozen" : std::string(1, first.interval.state),
      DurationText(first.interval.from_ns - context.process(first.process).calls.front().start_ns),
      DurationText(until - context.process(first.process).calls.front().start_ns), context.rank(first.process),
      DurationText(first.interval.from_ns - first.interval.before_ns)));
  if (wait.process != kNoIndex)
    finding.evidence.push_back(fmt::format("rank {} was in {} for {} of this time", context.rank(wait.process),
                                           context.Describe(wait.process, wait.call), DurationText(wait.overlap_ns)));
  finding.confidence = stands ? 0.95 : 0.9;
  return finding;
}

}  // namespace

std::vector<Finding> FindFrozen(Context& context) {
  std::vector<Stop> stops;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const Process& process = context.process(i);
    if (!context.situation(i).communicates) continue;
    for (StateInterval interval : StopsOf(context.run, process)) {
      Stop stop{i, interval};
      bool before_start = process.calls.empty() || interval.to_ns <= process.calls.front().start_ns;
      bool after_end = interval.from_ns >= context.LastNs(i);
      if (!before_start && !after_end && LastedUntil(context, stop) - interval.from_ns >= kLeastNs)
        stops.push_back(stop);
    }
  }
  std::vector<Finding> findings;
  for (const std::vector<Stop>& group : Together(std::move(stops))) {
    int64_t from = group[0].interval.from_ns, until = LastedUntil(context, group[0]);
    bool stands = IsStandingAtEnd(context, group[0]);
    size_t ranks = static_cast<size_t>(std::count_if(context.situations.of.begin(), context.situations.of.end(),
                                                     [](const Situation& s) { return s.communicates; }));
    bool all = group.size() == ranks;
    Wait wait = LongestWait(context, group, from, until);
    // All at once, and over: the job was suspended, and nobody waited for anybody.
    if (all && !stands) continue;
    bool waited = wait.overlap_ns * 2 >= until - from;
    bool may_have = AnyOnOtherHost(context, group[0].process);
    if (!all && !waited && !(may_have && stands)) continue;
    // Somebody looks with a debugger at a job that hangs already, or stops it.
    int64_t already = group[0].interval.before_ns - wait.since_ns;
    if (!all && waited && already > (group[0].interval.state == 't' ? kSlackNs : kHungNs)) continue;
    findings.push_back(Report(context, group, wait, stands));
  }
  return findings;
}

}  // namespace ddbg::analyzer
