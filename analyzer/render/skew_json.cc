#include "analyzer/model/comm_name.h"
#include "analyzer/render/json.h"
#include "analyzer/render/skew.h"

namespace ddbg::analyzer {
namespace {

Json SkewSpreadJson(const SkewSpread& spread) {
  Json json;
  json["count"] = spread.count;
  if (spread.count == 0) return json;
  json["p50_ns"] = spread.p50_ns;
  json["p95_ns"] = spread.p95_ns;
  json["p99_ns"] = spread.p99_ns;
  json["max_ns"] = spread.max_ns;
  return json;
}

Json PlaceJson(const SkewPlace& place) {
  Json json;
  json["comm"] = place.comm;
  json["comm_uid"] = CommUidText(place.comm_uid);
  json["call"] = place.call_name;
  json["call_site"] = place.line;
  json["skew"] = SkewSpreadJson(place.skew);
  json["worst"] = {{"seq", place.worst_seq}, {"last_rank", place.worst_rank}};
  if (place.worst_step >= 0) json["worst"]["step"] = place.worst_step;
  json["mostly_last_rank"] = place.mostly_last;
  json["times_last"] = place.times_last;
  return json;
}

Json StepJson(const SkewStep& step) {
  Json json;
  json["step"] = step.number;
  json["skew"] = SkewSpreadJson(step.skew);
  json["worst"] = {{"comm", step.comm}, {"call", step.call_name}, {"seq", step.seq}, {"last_rank", step.worst_rank}};
  return json;
}

Json RankJson(const RankLateness& rank) {
  Json json;
  json["rank"] = rank.rank;
  json["collectives"] = rank.collectives;
  json["times_last"] = rank.times_last;
  json["own_ns"] = rank.own_ns;
  json["inherited_ns"] = rank.inherited_ns;
  json["worst_ns"] = rank.worst_ns;
  return json;
}

Json SenderJson(const LateSender& pair) {
  Json json;
  json["sender"] = pair.sender;
  json["receiver"] = pair.receiver;
  json["messages"] = pair.messages;
  json["late"] = pair.late;
  json["waited_ns"] = pair.waited_ns;
  json["worst_ns"] = pair.worst_ns;
  return json;
}

template <typename T>
Json ListJson(const std::vector<T>& items, Json (*one)(const T&)) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(one(item));
  return json;
}

}  // namespace

void PrintSkewJson(const Run& run, const SkewReport& report, std::optional<int64_t> slo_ns, Output& out) {
  Json json;
  json["schema"] = "ddbg.skew/1";
  json["run_id"] = run.run_id;
  json["attempt_id"] = run.attempt_id;
  json["skew"] = SkewSpreadJson(report.all);
  if (slo_ns) {
    json["slo_ns"] = *slo_ns;
    json["slo_met"] = report.all.count == 0 ? Json(nullptr) : Json(report.all.p99_ns <= *slo_ns);
  }
  json["hosts"] = report.hosts;
  if (report.clock_error_ns >= 0) json["clock_error_ns"] = report.clock_error_ns;
  json["step_source"] = report.step_source;
  json["calls"] = ListJson(report.places, PlaceJson);
  json["steps"] = ListJson(report.steps, StepJson);
  json["ranks"] = ListJson(report.ranks, RankJson);
  json["late_senders"] = ListJson(report.senders, SenderJson);
  json["left_out"] = report.incomplete;
  json["caveats"] = report.caveats;
  out.Write(Dump(json, 2) + "\n");
}

}  // namespace ddbg::analyzer
