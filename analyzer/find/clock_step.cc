// Clocks that leapt or were set while the job ran: a host that was suspended, moved or restored, and a wall clock that
// was set. Explains no hang; explains timeouts, file times and logs that make no sense.
#include "analyzer/find/clock_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analyzer/align/wall_clock.h"
#include "analyzer/context/context.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

const std::string& HostName(const Context& context, size_t host) {
  return context.run.processes[context.timeline.alignment().first_process[host]].host;
}

Finding OfHost(const Context& context, size_t host, int64_t t_ns, const char* clock, double seconds) {
  Finding finding;
  finding.kind = "clock_step";
  finding.proof = Proof::kUnknown;  // whatever else is wrong says more
  finding.confidence = 0.9;
  size_t process = context.timeline.alignment().first_process[host];
  finding.first = context.Event(process, kNoIndex);
  finding.first.field = clock;
  finding.first.expected = "steady";
  finding.first.actual = fmt::format("{:+.3f} s", seconds);
  finding.first.t_ns = t_ns;
  for (size_t i = 0; i < context.run.processes.size(); ++i)
    if (context.timeline.HostOf(i) == host) finding.culprit_ranks.push_back(context.rank(i));
  std::sort(finding.culprit_ranks.begin(), finding.culprit_ranks.end());
  return finding;
}

// A host's monotonic clock stood still or leapt: it slept, or was moved or restored.
struct Leap {
  size_t host = 0;
  int64_t after_ns = 0, before_ns = 0;  // on the axis
  int64_t gained_ns = 0;
  std::string sentence, evidence;
};

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

// Against another host's clock, by what the ranks of both sent each other.
std::vector<Leap> LeapsBetweenHosts(const Context& context) {
  std::vector<Leap> leaps;
  for (const ClockStep& step : context.timeline.alignment().steps) {
    const HostAxis& axis = context.timeline.alignment().axes[step.host];
    Leap leap{step.host, axis.At(step.after_ns), axis.At(step.before_ns), -step.lost_ns, "", ""};
    leap.sentence = fmt::format(
        "The monotonic clock of {} {} {:.6f} s against that of {} ({:.3f} to {:.3f} s after the run's first event): "
        "the "
        "machine was suspended, moved or restored.",
        HostName(context, step.host), leap.gained_ns < 0 ? "lost" : "gained", std::abs(Seconds(leap.gained_ns)),
        HostName(context, step.against), Seconds(leap.after_ns), Seconds(leap.before_ns));
    leap.evidence = fmt::format(
        "before and after, what the ranks of both sent each other fits one line each; the two are {:.6f} s "
        "apart, known to {:.6f} s",
        std::abs(Seconds(step.lost_ns)), Seconds(step.error_ns));
    leaps.push_back(std::move(leap));
  }
  return leaps;
}

Leap SleepOf(const Context& context, const WallStep& step) {
  Leap leap{step.host, step.after_ns, step.before_ns, -step.slept_ns, "", ""};
  leap.sentence = fmt::format("{} slept (was suspended) for {:.1f} s, until {:.1f} s after the run's first event.",
                              HostName(context, step.host), Seconds(step.slept_ns), Seconds(step.before_ns));
  leap.evidence = "CLOCK_BOOTTIME and CLOCK_REALTIME went on while CLOCK_MONOTONIC stood still";
  return leap;
}

std::string SettingOf(const Context& context, const WallStep& step) {
  return fmt::format(
      "the wall clock of {} was set {} by {:.3f} s, {:.1f} to {:.1f} s after the run's first event: times of files and "
      "logs, and timeouts that are computed from it, are wrong by so much; the times here are not",
      HostName(context, step.host), step.by_ns < 0 ? "back" : "ahead", std::abs(Seconds(step.by_ns)),
      Seconds(step.after_ns), Seconds(step.before_ns));
}

// Each step of a clock once, however many saw it.
struct ClockEvents {
  std::vector<Leap> leaps;
  std::vector<WallStep> settings;  // of wall clocks
};

ClockEvents EventsOf(const Context& context, const WallClocks& clocks) {
  ClockEvents events;
  events.leaps = LeapsBetweenHosts(context);
  for (const WallStep& step : clocks.steps()) {
    // The wall clock goes ahead of a monotonic one that stands still.
    auto same = std::find_if(events.leaps.begin(), events.leaps.end(), [&](const Leap& leap) {
      bool then = leap.after_ns <= step.before_ns && leap.before_ns >= step.after_ns;
      return leap.host == step.host && then && std::abs(leap.gained_ns + step.by_ns) < kSecondNs / 2;
    });
    if (same == events.leaps.end() && step.IsSleep())
      events.leaps.push_back(SleepOf(context, step));
    else if (same == events.leaps.end())
      events.settings.push_back(step);
    else if (step.IsSleep())
      same->evidence = SleepOf(context, step).sentence;
  }
  return events;
}

bool IsFault(const Leap& leap) { return std::abs(leap.gained_ns) >= kSecondNs; }

}  // namespace

// A wall clock that was set harms no job by itself: a caveat says so. A machine that stood still does.
std::vector<Finding> FindClockSteps(Context& context) {
  std::vector<Finding> findings;
  for (const Leap& leap : EventsOf(context, WallClocks(context.run, context.timeline)).leaps) {
    if (!IsFault(leap)) continue;
    Finding finding = OfHost(context, leap.host, leap.after_ns, "monotonic clock", Seconds(leap.gained_ns));
    finding.summary = leap.sentence;
    finding.evidence.push_back(leap.evidence);
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<std::string> ClockCaveats(const Context& context, const std::vector<Finding>& told) {
  std::vector<std::string> caveats;
  WallClocks clocks(context.run, context.timeline);
  const Alignment& alignment = context.timeline.alignment();
  if (alignment.contradictions > 0)
    caveats.push_back(fmt::format(
        "{} events of different hosts lie before what they cannot have preceded, by more than the errors of the clocks "
        "explain: the recording contradicts itself there, and the order between hosts is not sure",
        alignment.contradictions));
  ClockEvents events = EventsOf(context, clocks);
  auto is_told = [&](const Leap& leap) {
    return std::any_of(told.begin(), told.end(),
                       [&](const Finding& finding) { return finding.summary == leap.sentence; });
  };
  for (const Leap& leap : events.leaps)
    if (!is_told(leap)) caveats.push_back(leap.sentence.substr(0, leap.sentence.size() - 1));
  for (const WallStep& step : events.settings) caveats.push_back(SettingOf(context, step));
  for (size_t host = 1; host < alignment.axes.size(); ++host) {
    size_t process = alignment.first_process[host];
    std::optional<int64_t> ahead = clocks.AheadNs(host);
    if (context.timeline.ErrorNs(0, process, 0) == kUnknownError) {
      caveats.push_back(fmt::format(
          "nothing but their wall clocks ties the times of {} to those of {}, and nobody knows how far these are off",
          HostName(context, host), HostName(context, 0)));
    } else if (ahead && std::abs(*ahead) >= kSecondNs) {
      caveats.push_back(fmt::format("the wall clock of {} is {:.1f} s {} that of {}; the times here are corrected",
                                    HostName(context, host), std::abs(static_cast<double>(*ahead)) / 1e9,
                                    *ahead > 0 ? "ahead of" : "behind", HostName(context, 0)));
    }
  }
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    int64_t ahead = clocks.OwnAheadNs(i);
    if (std::abs(ahead) >= kSecondNs)
      caveats.push_back(
          fmt::format("rank {} was told a time of day {:.1f} s {} its host's; the times here are corrected",
                      context.rank(i), std::abs(static_cast<double>(ahead)) / 1e9, ahead > 0 ? "ahead of" : "behind"));
  }
  return caveats;
}

}  // namespace ddbg::analyzer
