#include "analyzer/find/timeout.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analyzer/context/group_timeout.h"
#include "analyzer/load/telemetry.h"
#include "analyzer/model/describe.h"
#include "analyzer/model/told.h"

namespace ddbg::analyzer {
namespace {

constexpr double kAtWork = 0.5;  // of a CPU
constexpr double kCertain = 0.85;

struct GivenUp {
  std::vector<int32_t> ranks;
  int64_t limit_ms = -1;
};

GivenUp WhoGaveUp(const Context& context) {
  GivenUp given_up;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    auto timeout = TimeoutOf(context.process(i));
    if (!timeout) continue;
    given_up.ranks.push_back(context.rank(i));
    given_up.limit_ms = std::max(given_up.limit_ms, timeout->limit_ms);
  }
  std::sort(given_up.ranks.begin(), given_up.ranks.end());
  return given_up;
}

// As the ranks told when they joined; -1: they did not.
int64_t ConfiguredMs(const Context& context) {
  int64_t limit = -1;
  for (const Process& process : context.run.processes)
    for (const ToldEvent& event : EventsTold(process, "joining")) limit = std::max(limit, event.number);
  return limit;
}

std::string Seconds(int64_t ms) { return fmt::format("{:g} s", static_cast<double>(ms) / 1e3); }

// Share of a CPU that the threads of `process` had from a time on the axis until the end of what is looked at.
std::optional<double> CpuSince(const Context& context, size_t process, int64_t from_ns) {
  int64_t from = context.timeline.Back(process, from_ns), to = context.LastNs(process);
  auto share = CpuShareOf(context.process(process), from, to);
  if (!share || to <= from) return std::nullopt;
  return static_cast<double>(share->run_ns) / static_cast<double>(to - from);
}

void ExplainStall(const Context& context, const GivenUp& given_up, Finding* finding) {
  std::optional<double> cpu = CpuSince(context, finding->first.process, finding->first.t_ns);
  bool works = cpu && *cpu >= kAtWork;
  std::string limit = given_up.limit_ms > 0 ? ", " + Seconds(given_up.limit_ms) + "," : "";
  finding->summary += fmt::format(
      " {} gave up when the timeout of the process group{} was over{}.", given_up.ranks.size() == 1 ? "It" : "They",
      limit,
      works ? fmt::format(", which is no deadlock: rank {} was at work and had not come yet", finding->culprit_ranks[0])
            : "");
  if (works) finding->confidence = std::max(finding->confidence, kCertain);
  if (cpu)
    finding->evidence.push_back(
        fmt::format("rank {} used {:.0f} % of a CPU meanwhile", finding->culprit_ranks[0], *cpu * 100));
}

}  // namespace

void ExplainByTimeout(Context& context, Finding* finding) {
  bool waits = finding->proof == Proof::kMismatch || finding->proof == Proof::kMissing ||
               finding->proof == Proof::kCycle || finding->kind == "stall";
  if (!waits || finding->first.process == kNoIndex) return;
  int64_t configured_ms = ConfiguredMs(context);
  GivenUp given_up = WhoGaveUp(context);
  if (given_up.ranks.empty()) {
    if (finding->kind == "stall" && configured_ms > 0)
      finding->evidence.push_back(
          fmt::format("the timeout of the process group is {}: who waits gives up then", Seconds(configured_ms)));
    return;
  }
  if (finding->kind == "stall" && finding->culprit_ranks.size() == 1) ExplainStall(context, given_up, finding);
  std::string told = configured_ms > 0 && configured_ms == given_up.limit_ms ? ", as init_process_group was told" : "";
  finding->evidence.push_back(
      fmt::format("what came of it: {} gave up{}{}", RankList(given_up.ranks),
                  given_up.limit_ms > 0 ? fmt::format(" after {}", Seconds(given_up.limit_ms)) : "", told));
}

}  // namespace ddbg::analyzer
