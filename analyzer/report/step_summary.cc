#include "analyzer/report/step_summary.h"

#include <algorithm>
#include <map>
#include <set>

namespace ddbg::analyzer {
namespace {

constexpr const char* kConventional[] = {"loader", "forward", "backward", "optimizer", "checkpoint", "evaluation"};

int64_t At(std::vector<int64_t>* values, double share) {
  if (values->empty()) return 0;
  size_t place = static_cast<size_t>(share * static_cast<double>(values->size() - 1));
  std::nth_element(values->begin(), values->begin() + static_cast<ptrdiff_t>(place), values->end());
  return (*values)[place];
}

PartSpread SpreadOf(const std::vector<StepTimes>& times, const std::string& name) {
  PartSpread spread;
  spread.name = name;
  std::vector<int64_t> values;
  spread.max_ns = -1;
  for (const StepTimes& one : times) {
    int64_t ns = PartOf(one, name);
    if (ns < 0 || one.open) continue;
    values.push_back(ns);
    if (ns > spread.max_ns) spread.max_ns = ns, spread.max_process = one.process, spread.max_step = one.number;
  }
  spread.count = values.size();
  spread.max_ns = std::max<int64_t>(spread.max_ns, 0);
  spread.p50_ns = At(&values, 0.5);
  spread.p95_ns = At(&values, 0.95);
  return spread;
}

// Far from the others: more than a fifth over the median, and more than five times what steps usually are from it.
void MarkOutliers(std::vector<StepOfAll>* steps) {
  std::vector<int64_t> durations, distances;
  for (const StepOfAll& step : *steps) durations.push_back(step.duration_ns);
  int64_t median = At(&durations, 0.5);
  for (const StepOfAll& step : *steps) distances.push_back(std::abs(step.duration_ns - median));
  int64_t usual = At(&distances, 0.5);
  for (StepOfAll& step : *steps)
    step.outlier = steps->size() >= 5 && step.duration_ns > median + std::max(median / 5, 5 * usual);
}

}  // namespace

std::vector<std::string> PartNames(const std::vector<StepTimes>& times) {
  std::set<std::string> marked;
  for (const StepTimes& one : times)
    for (const auto& [name, ns] : one.phases) marked.insert(name);
  std::vector<std::string> names = {"duration"};
  for (const char* name : kConventional)
    if (marked.erase(name)) names.emplace_back(name);
  names.insert(names.end(), marked.begin(), marked.end());
  if (names.size() == 1) names.emplace_back("before first call");
  for (const char* name : {"in calls", "waiting", "other"}) names.emplace_back(name);
  return names;
}

int64_t PartOf(const StepTimes& times, const std::string& name) {
  if (auto phase = times.phases.find(name); phase != times.phases.end()) return phase->second;
  if (name == "duration") return times.duration_ns;
  if (name == "before first call") return times.lead_ns;
  if (name == "in calls") return times.calls_ns;
  if (name == "waiting") return times.wait_ns;
  if (name == "other") return times.own_ns;
  return -1;
}

StepSummary SummarizeSteps(const std::vector<StepTimes>& times) {
  StepSummary summary;
  for (const std::string& name : PartNames(times)) summary.parts.push_back(SpreadOf(times, name));
  std::map<int64_t, std::vector<const StepTimes*>> by_step;
  std::map<size_t, std::vector<const StepTimes*>> by_process;
  for (const StepTimes& one : times) {
    by_step[one.number].push_back(&one);
    by_process[one.process].push_back(&one);
  }
  std::map<size_t, size_t> slowest;
  for (const auto& [number, all] : by_step) {
    StepOfAll step;
    step.number = number;
    step.ranks = all.size();
    std::vector<int64_t> work;
    step.slowest = all[0]->process;
    step.slowest_work_ns = all[0]->work_ns();
    for (const StepTimes* one : all) {
      step.duration_ns = std::max(step.duration_ns, one->duration_ns);
      work.push_back(one->work_ns());
      if (one->work_ns() > step.slowest_work_ns) step.slowest = one->process, step.slowest_work_ns = one->work_ns();
    }
    step.median_work_ns = At(&work, 0.5);
    if (all.size() > 1 && step.slowest_work_ns * 10 > step.median_work_ns * 11) ++slowest[step.slowest];
    summary.steps.push_back(step);
  }
  MarkOutliers(&summary.steps);
  for (const auto& [process, all] : by_process) {
    std::vector<int64_t> duration, work, wait;
    for (const StepTimes* one : all) {
      if (one->open) continue;
      duration.push_back(one->duration_ns);
      work.push_back(one->work_ns());
      wait.push_back(one->wait_ns);
    }
    RankOfAll rank{process, all.size(), slowest[process]};
    rank.duration_p50_ns = At(&duration, 0.5);
    rank.work_p50_ns = At(&work, 0.5);
    rank.work_max_ns = work.empty() ? 0 : *std::max_element(work.begin(), work.end());
    rank.wait_p50_ns = At(&wait, 0.5);
    summary.ranks.push_back(rank);
  }
  return summary;
}

}  // namespace ddbg::analyzer
