#include <algorithm>

#include "analyzer/load/telemetry.h"
#include "analyzer/render/telemetry.h"

namespace ddbg::analyzer {
namespace {

Json MetricOf(const SampleSeries& series, const SampleSeries::Column& column, MetricUse use) {
  if (use == MetricUse::kCounter)
    return {{"last", column.values.back()},
            {"growth", Growth(series, column.metric, series.t_ns.front(), series.t_ns.back()).value_or(0)}};
  auto [least, most] = std::minmax_element(column.values.begin(), column.values.end());
  return {{"last", column.values.back()}, {"min", *least}, {"max", *most}};
}

Json ByName(const std::map<std::string, SampleSeries>& all, bool every) {
  Json json = Json::object();
  for (const auto& [name, series] : all) json[name] = SamplesOf(series, every);
  return json;
}

}  // namespace

Json SamplesOf(const SampleSeries& series, bool all) {
  Json json = {{"samples", series.t_ns.size()}};
  if (series.empty()) return json;
  json["from_ns"] = series.t_ns.front();
  json["to_ns"] = series.t_ns.back();
  if (all) json["t_ns"] = series.t_ns;
  for (const SampleSeries::Column& column : series.columns) {
    const MetricInfo& info = kMetrics[MetricIndex(column.metric)];
    Json& one = json["metrics"][std::string(info.json_name)];
    if (column.metric == Metric::kState) {
      one = {{"last", std::string(1, static_cast<char>(column.values.back()))}};
    } else {
      one = MetricOf(series, column, info.use);
    }
    if (all) one["values"] = column.values;
  }
  for (const auto& [t_ns, where] : series.kernel_waits)
    json["kernel_waits"].push_back({{"t_ns", t_ns}, {"where", where}});
  return json;
}

Json NodeJson(const NodeTelemetry& node, bool all) {
  Json json = {{"host", node.host},
               {"system", SamplesOf(node.system, all)},
               {"cgroups", ByName(node.cgroups, all)},
               {"interfaces", ByName(node.interfaces, all)},
               {"file_systems", ByName(node.file_systems, all)}};
  json["clock_steps"] = Json::array();
  for (const WallClockStep& step : node.clock_steps)
    json["clock_steps"].push_back(
        {{"t_ns", step.t_ns}, {"step_ns", step.step_ns}, {"suspended_ns", step.suspended_ns}});
  return json;
}

}  // namespace ddbg::analyzer
