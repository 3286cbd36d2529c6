#include "analyzer/model/describe.h"
#include "analyzer/render/diff.h"
#include "analyzer/render/who.h"

namespace ddbg::analyzer {
namespace {

const char* KindText(StructuralDifference::Kind kind) {
  switch (kind) {
    case StructuralDifference::kChanged: return "changed";
    case StructuralDifference::kExtra: return "extra";
    case StructuralDifference::kMissing: return "missing";
    case StructuralDifference::kEndsEarly: return "ends_early";
    case StructuralDifference::kRepetitions: return "repetitions";
  }
  return "";
}

Json CallJson(const Run& run, size_t process, size_t index, StackViews* views) {
  if (process == kNoIndex || index == kNoIndex) return Json();
  const Process& p = run.processes[process];
  const Call& call = p.calls[index];
  Json json = {
      {"rank", p.rank()}, {"call", CallName(p, call)}, {"text", DescribeCall(p, call)}, {"t_ns", call.start_ns}};
  if (FieldsOf(call).seq) json["seq"] = call.seq;
  std::string line = DescribeFrame(views->Of(p, call.stack).source_frame());
  if (!line.empty()) json["line"] = line;
  return json;
}

Json StructuralJson(const DiffInput& input, const StructuralDifference& d) {
  Json json = {{"kind", KindText(d.kind)}, {"lane", d.lane}, {"position", d.position}};
  json["rank_count"] = d.ranks.size();
  json["rank_ranges"] = RankRanges(d.ranks);
  if (d.calls) json["calls"] = d.calls;
  if (d.turns) json["turns"] = d.turns;
  if (!d.field.empty()) json["field"] = d.field, json["expected"] = d.expected, json["actual"] = d.actual;
  json["bad_at_ns"] = d.bad_ns;
  json["good"] = CallJson(input.good, d.good_process, d.good_call, input.views);
  json["bad"] = CallJson(input.bad, d.bad_process, d.bad_call, input.views);
  return json;
}

Json SpreadJson(const Spread& spread) {
  return {{"calls", spread.calls},
          {"median_ns", spread.median_ns},
          {"p95_ns", spread.p95_ns},
          {"total_ns", spread.total_ns}};
}

}  // namespace

void PrintDiffJson(const DiffInput& input, Output& out) {
  const RunDiff& diff = input.diff;
  Json json = {{"schema", "ddbg.diff/1"}, {"good_run_id", input.good.run_id}, {"bad_run_id", input.bad.run_id}};
  json["different"] = input.different();
  json["ranks"] = diff.ranks;
  json["calls"] = diff.calls;
  json["only_good_ranks"] = RankRanges(diff.only_good);
  json["only_bad_ranks"] = RankRanges(diff.only_bad);
  json["call_sites_by"] = diff.by_function ? "function" : "line";
  json["structural"] = Json::array();
  for (const StructuralDifference& d : diff.structural) json["structural"].push_back(StructuralJson(input, d));
  json["slower"] = Json::array();
  for (const SlowerSite& row : diff.slower) {
    json["slower"].push_back({{"measure", row.measure},
                              {"call", row.call},
                              {"comm", row.comm},
                              {"line", row.line},
                              {"good", SpreadJson(row.good)},
                              {"bad", SpreadJson(row.bad)},
                              {"excess_ns", row.excess_ns}});
  }
  json["environment"] = FactsJson({input.good, &input.bad, input.facts});
  json["caveats"] = diff.caveats;
  out.Write(Dump(json, 2) + "\n");
}

}  // namespace ddbg::analyzer
