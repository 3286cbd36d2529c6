#include "analyzer/render/who.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/format.h"
#include "analyzer/report/run_summary.h"

namespace ddbg::analyzer {

std::string WhoText(const Run& run, const std::vector<size_t>& processes) {
  std::vector<int32_t> ranks;
  std::vector<std::string> others;
  for (size_t index : processes) {
    int32_t rank = run.processes[index].rank();
    if (rank >= 0 && (ranks.empty() || ranks.back() != rank)) ranks.push_back(rank);
    if (rank < 0) others.push_back(ProcessName(run.processes[index]));
  }
  constexpr size_t kShown = 4;
  std::string text = ranks.empty() ? "" : fmt::format("[{}] {}", RanksText(ranks), Counted(ranks.size(), "rank"));
  for (size_t i = 0; i < std::min(kShown, others.size()); ++i) text += (text.empty() ? "" : ", ") + others[i];
  if (others.size() > kShown) text += fmt::format(" and {} more", others.size() - kShown);
  return text;
}

Json RankRanges(const std::vector<int32_t>& ascending) {
  Json ranges = Json::array();
  for (size_t i = 0; i < ascending.size();) {
    size_t end = i + 1;
    while (end < ascending.size() && ascending[end] <= ascending[end - 1] + 1) ++end;
    ranges.push_back({ascending[i], ascending[end - 1]});
    i = end;
  }
  return ranges;
}

void PutWho(const Run& run, const std::vector<size_t>& processes, Json* json) {
  std::vector<int32_t> ranks;
  Json others = Json::array();
  for (size_t index : processes) {
    const Process& process = run.processes[index];
    if (process.rank() < 0) {
      others.push_back({{"host", process.host}, {"pid", process.pid}});
    } else if (ranks.empty() || ranks.back() != process.rank()) {
      ranks.push_back(process.rank());
    }
  }
  (*json)["rank_count"] = ranks.size();
  (*json)["rank_ranges"] = RankRanges(ranks);
  if (!others.empty()) (*json)["without_rank"] = std::move(others);
}

}  // namespace ddbg::analyzer
