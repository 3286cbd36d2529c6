// A rank that is late because it sleeps in the kernel for a disk or a file system (state D), now or again and again.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/context/context.h"
#include "analyzer/find/late_windows.h"
#include "analyzer/load/telemetry.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kLeastNs = 3'000'000'000;
constexpr double kLeastOfLateness = 0.5;

// A parent that waits in vfork for its child, a process that writes its core: asleep like that, but for no disk.
bool IsOfNoDisk(std::string_view where) {
  for (std::string_view part : {"fork", "clone", "coredump", "do_exit", "freez", "ptrace"})
    if (where.find(part) != where.npos) return true;
  return false;
}

std::string WhereText(const SampleSeries& series, int64_t from_ns, int64_t to_ns) {
  std::string text;
  for (const auto& [t_ns, where] : series.kernel_waits)
    if (t_ns >= from_ns && t_ns <= to_ns) text = where;
  return text;
}

void AddNode(const Context& context, size_t process, int64_t from_ns, int64_t to_ns, Finding* finding) {
  const NodeTelemetry* node = NodeOf(context.run, context.process(process));
  if (node == nullptr) return;
  if (std::optional<int64_t> us = Growth(node->system, Metric::kPressureIoUs, from_ns, to_ns); us && *us > 0)
    finding->evidence.push_back(
        fmt::format("some task of its node waited for I/O for {} of this time (PSI)", DurationText(*us * 1000)));
  if (std::optional<int64_t> blocked = ValueAt(node->system, Metric::kTasksBlocked, to_ns); blocked && *blocked > 0)
    finding->evidence.push_back(fmt::format("{} tasks of its node were blocked on I/O", *blocked));
}

Finding Begin(const Context& context, size_t process, size_t call) {
  Finding finding;
  finding.kind = "io_stall";
  finding.proof = Proof::kTiming;
  finding.culprit_ranks = {context.rank(process)};
  finding.first = context.Event(process, call);
  finding.first.field = "process state";
  finding.first.expected = "running";
  finding.first.actual = "uninterruptible sleep";
  return finding;
}

// Someone of the same host who is in a blocking call now, and came to it before the end by so much.
bool AnyoneWaits(const Context& context, size_t process) {
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    size_t open = context.situation(i).open_call;
    if (i == process || open == kNoIndex || !context.situation(i).alive_at_end()) continue;
    if (context.OpenSeconds(i, open) * 1e9 >= kLeastNs) return true;
  }
  return false;
}

void FindStanding(Context& context, size_t process, std::vector<Finding>* findings) {
  const Process& p = context.process(process);
  std::vector<StateInterval> sleeps = DiskSleepsOf(context.run, p);
  if (sleeps.empty() || sleeps.back().over || !context.situation(process).alive_at_end()) return;
  const StateInterval& sleep = sleeps.back();
  int64_t until = std::max(sleep.to_ns, context.LastNs(process));
  std::string where = WhereText(p.samples, sleep.from_ns - 1, until);
  // More than one entry: that it slept like that twice by chance says nothing, and the last one may be old.
  if (sleep.to_ns - sleep.from_ns < kLeastNs || IsOfNoDisk(where) || !AnyoneWaits(context, process)) return;
  const Situation& s = context.situation(process);
  Finding finding = Begin(context, process, s.open_call != kNoIndex ? s.open_call : s.last_call);
  finding.first.t_ns = context.timeline.At(process, sleep.from_ns);
  finding.summary = fmt::format(
      "Rank {} has been in uninterruptible sleep (state D) for {}{}, which is for a disk or a file system, and the "
      "others "
      "wait for it: it is {}.",
      context.rank(process), DurationText(until - sleep.from_ns),
      where.empty() ? "" : fmt::format(", in {} of the kernel", where), context.WhereIs(process));
  AddNode(context, process, sleep.from_ns, until, &finding);
  finding.confidence = 0.85;
  findings->push_back(std::move(finding));
}

void FindAgainAndAgain(Context& context, size_t process, const std::vector<LateWindow>& late,
                       std::vector<Finding>* findings) {
  int64_t asleep = 0, late_ns = 0, time = 0;
  std::vector<LateWindow> windows;
  for (const LateWindow& window : late) {
    int64_t one = DiskSleepNs(context.run, context.process(process), window.from_ns, window.to_ns);
    if (static_cast<double>(one) < kLeastOfLateness * static_cast<double>(window.late_ns)) continue;
    asleep += one, late_ns += window.late_ns, time += window.to_ns - window.from_ns;
    windows.push_back(window);
  }
  if (asleep < kLeastNs) return;
  std::string where = WhereText(context.process(process).samples, windows.front().from_ns, windows.back().to_ns);
  if (IsOfNoDisk(where)) return;
  Finding finding = Begin(context, process, FirstLateCall(context, process, windows));
  finding.first.t_ns = context.timeline.At(process, windows.front().from_ns);
  finding.summary = fmt::format(
      "Rank {} came late: about {} of {} it was in uninterruptible sleep (state D) for a disk or a file system{}, and "
      "the "
      "others waited {} for it.",
      context.rank(process), DurationText(asleep), DurationText(time),
      where.empty() ? "" : fmt::format(", in {} of the kernel", where), DurationText(late_ns));
  AddNode(context, process, windows.front().from_ns, windows.back().to_ns, &finding);
  finding.confidence = 0.8;
  findings->push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> FindIoStalls(Context& context) {
  std::vector<Finding> findings;
  std::vector<std::vector<LateWindow>> late = FindLateWindows(context);
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    if (!context.situation(i).communicates) continue;
    size_t before = findings.size();
    FindStanding(context, i, &findings);
    if (findings.size() == before) FindAgainAndAgain(context, i, late[i], &findings);
  }
  return findings;
}

}  // namespace ddbg::analyzer
