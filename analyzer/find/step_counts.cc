#include "analyzer/find/step_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/describe.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostGroups = 4;

// Of one rank, or of several alike.
struct Progress {
  int64_t step = 0;
  size_t turn = 0;    // how many it began
  bool over = false;  // the optimizer, which is last in a step, was through

  bool operator<(const Progress& other) const {
    return std::tie(step, turn, over) < std::tie(other.step, other.turn, other.over);
  }
};

// Until what is looked at ends.
std::optional<Progress> ProgressOf(const Context& context, size_t index) {
  const Process& process = context.process(index);
  Progress progress;
  for (const Call& call : process.calls) {
    if (call.start_ns >= context.situation(index).until_ns) break;
    if (!IsMark(call)) continue;
    if (call.info().kind == CallKind::Step) {
      int64_t number = static_cast<int64_t>(call.count);
      if (progress.turn == 0 || number != progress.step) ++progress.turn;
      progress.step = number;
      progress.over = false;
    } else if (call.info().kind == CallKind::PhaseEnd && MarkName(process, call) == "optimizer") {
      progress.over = true;
    }
  }
  return progress.turn > 0 ? std::optional(progress) : std::nullopt;
}

std::string Ordinal(size_t n) {
  bool teen = n % 100 / 10 == 1;
  const char* end = teen ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
  return fmt::format("{}{}", n, end);
}

std::string Sentence(const Progress& progress, const std::vector<int32_t>& ranks) {
  bool one = ranks.size() == 1;
  return fmt::format("{} {} step {}, {} {}", RankList(ranks),
                     progress.over ? "ended after"
                     : one         ? "is in"
                                   : "are in",
                     progress.step, one ? "its" : "their", Ordinal(progress.turn));
}

}  // namespace

void TellStepCounts(const Context& context, Finding* finding) {
  if (finding->proof != Proof::kMismatch && finding->proof != Proof::kMissing) return;
  std::map<Progress, std::vector<int32_t>> groups;
  std::set<int64_t> steps;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    std::optional<Progress> progress = ProgressOf(context, i);
    if (!progress) continue;
    groups[*progress].push_back(context.rank(i));
    steps.insert(progress->step);
  }
  if (steps.size() < 2 || groups.size() > kMostGroups) return;
  std::string text;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {  // who came farthest first
    std::sort(group->second.begin(), group->second.end());
    text += (text.empty() ? "" : "; ") + Sentence(group->first, group->second);
  }
  text[0] = static_cast<char>(std::toupper(text[0]));
  finding->summary += " " + text + ".";
}

}  // namespace ddbg::analyzer
