#include <fmt/format.h>

#include <algorithm>

#include "analyzer/model/format.h"
#include "analyzer/render/steps.h"
#include "analyzer/report/step_summary.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostRanks = 32, kMostOutliers = 10;

std::string RankName(const Run& run, size_t process) {
  const Process& p = run.processes[process];
  return p.rank() >= 0 ? std::to_string(p.rank()) : fmt::format("pid {}", p.pid);
}

std::string Parts(const Run& run, const StepSummary& summary) {
  Table table({"part of a step", "p50", "p95", "max", "on rank", "in step"});
  for (const PartSpread& part : summary.parts) {
    bool any = part.count > 0;
    table.Add({part.name, DurationText(part.p50_ns), DurationText(part.p95_ns), DurationText(part.max_ns),
               any ? RankName(run, part.max_process) : "-", any ? std::to_string(part.max_step) : "-"});
  }
  return table.Text();
}

std::string Ranks(const Run& run, StepSummary* summary) {
  std::vector<RankOfAll>& ranks = summary->ranks;
  size_t all = ranks.size();
  if (all > kMostRanks) {
    std::partial_sort(ranks.begin(), ranks.begin() + kMostRanks, ranks.end(),
                      [](const RankOfAll& a, const RankOfAll& b) { return a.work_p50_ns > b.work_p50_ns; });
    ranks.resize(kMostRanks);
  }
  Table table({"rank", "steps", "duration p50", "work p50", "work max", "waiting p50", "slowest"});
  for (const RankOfAll& rank : ranks)
    table.Add({RankName(run, rank.process), Grouped(rank.steps), DurationText(rank.duration_p50_ns),
               DurationText(rank.work_p50_ns), DurationText(rank.work_max_ns), DurationText(rank.wait_p50_ns),
               rank.times_slowest ? fmt::format("{} times", rank.times_slowest) : "-"});
  return table.Text() + (all > kMostRanks ? fmt::format("… and {} ranks with less work\n", all - kMostRanks) : "");
}

std::string Outliers(const Run& run, const StepSummary& summary) {
  std::vector<const StepOfAll*> outliers;
  for (const StepOfAll& step : summary.steps)
    if (step.outlier) outliers.push_back(&step);
  if (outliers.empty()) return "";
  std::stable_sort(outliers.begin(), outliers.end(),
                   [](const StepOfAll* a, const StepOfAll* b) { return a->duration_ns > b->duration_ns; });
  std::string text = "\nSteps that took far longer than the others\n";
  for (size_t i = 0; i < outliers.size() && i < kMostOutliers; ++i)
    text += fmt::format("  step {}: {}; rank {} worked longest, {} (median of the ranks: {})\n", outliers[i]->number,
                        DurationText(outliers[i]->duration_ns), RankName(run, outliers[i]->slowest),
                        DurationText(outliers[i]->slowest_work_ns), DurationText(outliers[i]->median_work_ns));
  if (outliers.size() > kMostOutliers) text += fmt::format("  … and {} more\n", outliers.size() - kMostOutliers);
  return text;
}

std::string Detail(const Run& run, std::vector<StepTimes> times) {
  std::vector<std::string> parts = PartNames(times), header = {"step", "rank", "start s"};
  header.insert(header.end(), parts.begin(), parts.end());
  std::stable_sort(times.begin(), times.end(),
                   [](const StepTimes& a, const StepTimes& b) { return a.number < b.number; });
  Table table(header);
  for (const StepTimes& one : times) {
    std::vector<std::string> row = {std::to_string(one.number), RankName(run, one.process),
                                    fmt::format("{:.6f}", static_cast<double>(one.start_ns) / 1e9)};
    for (const std::string& part : parts) {
      int64_t ns = PartOf(one, part);
      row.push_back(ns < 0 ? "-" : DurationText(ns) + (one.open && part == "duration" ? " so far" : ""));
    }
    table.Add(std::move(row));
  }
  return table.Text();
}

}  // namespace

void PrintStepsText(const Run& run, const Steps& steps, const std::vector<StepTimes>& times, bool detail, Output& out) {
  out.Write(fmt::format("Steps: {}\n", steps.how()));
  if (times.empty()) return static_cast<void>(out.Write("No step is to be shown.\n"));
  bool marked = std::any_of(times.begin(), times.end(), [](const StepTimes& one) { return !one.phases.empty(); });
  if (!marked)
    out.Write(
        "No phases are marked (ddbg/ddbg.h): loader, forward, backward and optimizer cannot be told apart, and are in "
        "\"before first call\" and \"other\".\n");
  out.Write("\n");
  if (detail) return static_cast<void>(out.Write(Detail(run, times)));
  StepSummary summary = SummarizeSteps(times);
  out.Write(Parts(run, summary) + "\n" + Ranks(run, &summary) + Outliers(run, summary));
}

}  // namespace ddbg::analyzer
