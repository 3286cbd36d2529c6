#include "analyzer/align/wall_clock.h"

#include <algorithm>
#include <utility>

namespace ddbg::analyzer {
namespace {

constexpr int64_t kLeastStepNs = 100'000'000;

struct Reading {
  int64_t axis_ns, offset_ns;  // realtime less axis
};

// As a collector read them: one program for all processes of the host.
std::vector<Reading> ReadingsOf(const Run& run, const Timeline& timeline, size_t host) {
  std::vector<Reading> readings;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    if (timeline.HostOf(i) != host) continue;
    for (const WallReading& reading : run.processes[i].wall) {
      int64_t axis_ns = timeline.At(i, reading.monotonic_ns);
      readings.push_back({axis_ns, reading.realtime_ns - axis_ns});
    }
  }
  std::sort(readings.begin(), readings.end(), [](const Reading& a, const Reading& b) { return a.axis_ns < b.axis_ns; });
  return readings;
}

constexpr int64_t kLookNs = 1'000'000'000;  // telemetry looks so often

// A process of the host that ran then, by its own clock; kNoIndex: none.
size_t ProcessThen(const Run& run, const std::string& host, int64_t t_ns) {
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const Process& process = run.processes[i];
    if (process.host != host || process.calls.empty() || process.calls.front().start_ns > t_ns) continue;
    if (process.end.how == ProcessEnd::kRunning || process.end.t_ns >= t_ns) return i;
  }
  return kNoIndex;
}

std::vector<WallStep> SeenByTelemetry(const Run& run, const Timeline& timeline) {
  std::vector<WallStep> steps;
  for (const NodeTelemetry& node : run.nodes)
    for (const WallClockStep& step : node.clock_steps) {
      size_t process = ProcessThen(run, node.host, step.t_ns);
      if (process == kNoIndex || std::abs(step.step_ns) < kLeastStepNs) continue;
      steps.push_back({timeline.HostOf(process), timeline.At(process, step.t_ns - kLookNs),
                       timeline.At(process, step.t_ns), step.step_ns, step.suspended_ns});
    }
  return steps;
}

bool IsAmong(const std::vector<WallStep>& steps, const WallStep& step) {
  return std::any_of(steps.begin(), steps.end(), [&](const WallStep& s) {
    return s.host == step.host && s.after_ns <= step.before_ns + kLookNs && s.before_ns >= step.after_ns - kLookNs;
  });
}

}  // namespace

WallClocks::WallClocks(const Run& run, const Timeline& timeline) : own_ahead_(run.processes.size(), 0) {
  size_t hosts = timeline.alignment().first_process.size();
  at_begin_.resize(hosts);
  std::vector<WallStep> seen = SeenByTelemetry(run, timeline);
  steps_ = seen;
  for (size_t host = 0; host < hosts; ++host) {
    std::vector<Reading> readings = ReadingsOf(run, timeline, host);
    for (size_t i = 1; i < readings.size(); ++i) {
      int64_t by_ns = readings[i].offset_ns - readings[i - 1].offset_ns;
      WallStep step{host, readings[i - 1].axis_ns, readings[i].axis_ns, by_ns};
      if (std::abs(by_ns) >= kLeastStepNs && !IsAmong(seen, step)) steps_.push_back(step);
    }
    if (!readings.empty()) at_begin_[host] = readings.front().offset_ns;
    for (size_t i = 0; i < run.processes.size(); ++i) {
      const Process& process = run.processes[i];
      if (timeline.HostOf(i) != host || process.start_realtime_ns == 0) continue;
      int64_t start_ns = timeline.At(i, process.start_monotonic_ns), offset_ns = process.start_realtime_ns - start_ns;
      if (!at_begin_[host]) at_begin_[host] = offset_ns;
      auto next =
          std::find_if(readings.begin(), readings.end(), [&](const Reading& r) { return r.axis_ns >= start_ns; });
      bool stepped = next != readings.begin() && next != readings.end() &&
                     std::abs(next->offset_ns - next[-1].offset_ns) >= kLeastStepNs;
      if (next != readings.end() && !stepped) own_ahead_[i] = offset_ns - next->offset_ns;
    }
  }
  std::sort(steps_.begin(), steps_.end(), [](const WallStep& a, const WallStep& b) {
    return std::pair(a.host, a.after_ns) < std::pair(b.host, b.after_ns);
  });
}

std::optional<int64_t> WallClocks::AheadNs(size_t host) const {
  if (!at_begin_[0] || !at_begin_[host]) return std::nullopt;
  return *at_begin_[host] - *at_begin_[0];
}

std::vector<ClockSummary> ClocksOf(const Run& run, const Timeline& timeline, const WallClocks& walls) {
  const Alignment& alignment = timeline.alignment();
  std::vector<ClockSummary> clocks;
  for (size_t host = 0; host < alignment.axes.size(); ++host) {
    const HostAxis& axis = alignment.axes[host];
    ClockSummary clock;
    const Process& process = run.processes[alignment.first_process[host]];
    clock.host = process.host, clock.boot_id = process.boot_id;
    clock.start_ns = axis.Back(0), clock.end_ns = axis.Back(timeline.end_ns());
    clock.drift_ppm = (1 / (1 + axis.rate()) - 1) * 1e6;
    for (int64_t axis_ns : {int64_t{0}, timeline.end_ns() / 2, timeline.end_ns()})
      clock.error_ns = std::max(clock.error_ns, axis.ErrorNs(axis.Back(axis_ns)));
    clock.tied_by = host == 0 ? "reference" : clock.error_ns == kUnknownError ? "wall_clock" : "causality";
    clock.wall_ahead_ns = walls.AheadNs(host);
    for (size_t i = 0; i < run.processes.size(); ++i)
      if (timeline.HostOf(i) == host) clock.ranks.push_back(run.processes[i].rank());
    clocks.push_back(std::move(clock));
  }
  return clocks;
}

}  // namespace ddbg::analyzer
