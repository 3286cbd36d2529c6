#include <algorithm>
#include <map>

#include "analyzer/render/json.h"
#include "analyzer/render/steps.h"
#include "analyzer/report/step_summary.h"

namespace ddbg::analyzer {
namespace {

std::string KeyOf(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name + "_ns";
}

Json RankStep(const Run& run, const StepTimes& one) {
  Json json = {
      {"rank", run.processes[one.process].rank()}, {"start_ns", one.start_ns}, {"duration_ns", one.duration_ns}};
  for (const char* name : {"loader", "forward", "backward", "optimizer", "checkpoint", "evaluation"}) {
    auto phase = one.phases.find(name);
    if (phase != one.phases.end()) json[KeyOf(name)] = phase->second;
  }
  json["before_first_call_ns"] = one.lead_ns;
  json["in_calls_ns"] = one.calls_ns;
  json["wait_ns"] = one.wait_ns;
  json["work_ns"] = one.work_ns();
  json["other_ns"] = one.own_ns;
  if (!one.phases.empty()) json["phases"] = one.phases;
  if (one.open) json["open"] = true;
  return json;
}

}  // namespace

void PrintStepsJson(const Run& run, const Steps& steps, const std::vector<StepTimes>& times, Output& out) {
  StepSummary summary = SummarizeSteps(times);
  Json json = {{"schema", "ddbg.steps/1"}, {"run_id", run.run_id}, {"attempt_id", run.attempt_id}};
  json["source"] = steps.source() == StepSource::kNone ? Json() : Json(SourceName(steps.source()));
  json["how"] = steps.how();
  json["parts"] = Json::array();
  for (const PartSpread& part : summary.parts) {
    Json one = {{"part", part.name == "waiting" ? "wait_ns" : KeyOf(part.name)}, {"count", part.count}};
    one["p50_ns"] = part.p50_ns;
    one["p95_ns"] = part.p95_ns;
    one["max_ns"] = part.max_ns;
    if (part.count) one["max_rank"] = run.processes[part.max_process].rank(), one["max_step"] = part.max_step;
    json["parts"].push_back(std::move(one));
  }
  json["ranks"] = Json::array();
  for (const RankOfAll& rank : summary.ranks)
    json["ranks"].push_back({{"rank", run.processes[rank.process].rank()},
                             {"steps", rank.steps},
                             {"times_slowest", rank.times_slowest},
                             {"duration_p50_ns", rank.duration_p50_ns},
                             {"work_p50_ns", rank.work_p50_ns},
                             {"work_max_ns", rank.work_max_ns},
                             {"wait_p50_ns", rank.wait_p50_ns}});
  std::map<int64_t, Json> of_step;
  for (const StepTimes& one : times)
    of_step.try_emplace(one.number, Json::array()).first->second.push_back(RankStep(run, one));
  json["steps"] = Json::array();
  for (const StepOfAll& step : summary.steps)
    json["steps"].push_back({{"step", step.number},
                             {"duration_ns", step.duration_ns},
                             {"slowest_rank", run.processes[step.slowest].rank()},
                             {"slowest_work_ns", step.slowest_work_ns},
                             {"median_work_ns", step.median_work_ns},
                             {"outlier", step.outlier},
                             {"ranks", std::move(of_step[step.number])}});
  out.Write(Dump(json, 2) + "\n");
}

}  // namespace ddbg::analyzer
