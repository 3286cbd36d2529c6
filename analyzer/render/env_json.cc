#include "analyzer/render/env.h"
#include "analyzer/render/who.h"

namespace ddbg::analyzer {
namespace {

Json ValuesJson(const Run& run, const std::vector<FactValue>& values) {
  Json json = Json::array();
  for (const FactValue& value : values) {
    Json one = {{"value", value.present ? Json(value.text) : Json()}};
    PutWho(run, value.processes, &one);
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace

Json FactsJson(const EnvInput& input) {
  Json json = Json::array();
  for (const FactDifference& difference : input.comparison.differences) {
    Json one = {{"area", difference.name.area}, {"name", difference.name.name}, {"by_design", difference.expected}};
    one["values"] = ValuesJson(input.run, difference.values);
    if (input.other) one["other_values"] = ValuesJson(*input.other, difference.other);
    json.push_back(std::move(one));
  }
  return json;
}

void PrintEnvJson(const EnvInput& input, Output& out) {
  Json json = {{"schema", "ddbg.env/1"}, {"run_id", input.run.run_id}};
  if (input.other) json["other_run_id"] = input.other->run_id;
  json["ranks"] = RankProcesses(input.run).size();
  json["equal"] = input.comparison.equal;
  json["by_design_left_out"] = input.comparison.hidden;
  json["differences"] = FactsJson(input);
  out.Write(Dump(json, 2) + "\n");
}

}  // namespace ddbg::analyzer
