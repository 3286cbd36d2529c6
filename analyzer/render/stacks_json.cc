#include "analyzer/render/json.h"
#include "analyzer/render/stacks.h"
#include "analyzer/render/who.h"
#include "analyzer/report/run_summary.h"

namespace ddbg::analyzer {
namespace {

const char* StateText(StackTree::State state) {
  switch (state) {
    case StackTree::kIn: return "in";
    case StackTree::kAfter: return "after";
    case StackTree::kDuring: return "during";
  }
  return "";
}

Json NodeJson(const StacksInput& input, size_t index) {
  const StackTree::Node& node = input.tree.nodes()[index];
  Json json = Json::object();
  if (node.leaf) {
    json["call"] = node.call;
    if (!node.comm.empty()) json["comm"] = node.comm;
    if (node.seq >= 0) json["seq"] = node.seq;
    json["state"] = StateText(node.state);
    json["calls"] = node.calls;
    json[node.state == StackTree::kDuring ? "total_ns" : "longest_ns"] =
        node.state == StackTree::kDuring ? node.total_ns : node.longest_ns;
  } else if (index != 0) {
    const Frame& frame = node.frame;
    if (!frame.function.empty()) json["function"] = frame.function;
    if (!frame.file.empty()) json["file"] = frame.file;
    if (frame.line > 0) json["line"] = frame.line;
    if (frame.python) json["language"] = "python";
    if (!frame.module.empty()) json["module"] = frame.module;
    if (frame.function.empty() && frame.line == 0) json["offset"] = frame.offset;
    if (frame.inlined) json["inlined"] = true;
  }
  PutWho(input.run, node.processes, &json);
  if (node.leaf) return json;
  json["children"] = Json::array();
  for (size_t child : node.children) json["children"].push_back(NodeJson(input, child));
  return json;
}

}  // namespace

void PrintStacksJson(const StacksInput& input, Output& out) {
  const StackSelection& selection = input.selection;
  Json json = {{"schema", "ddbg.stacks/1"}, {"run_id", input.run.run_id}};
  switch (selection.mode) {
    case StackSelection::kEnd: json["mode"] = "end"; break;
    case StackSelection::kAt: json["mode"] = "at", json["at_ns"] = selection.at_ns; break;
    case StackSelection::kWindow:
      json["mode"] = "window", json["from_ns"] = selection.from_ns, json["to_ns"] = selection.to_ns;
      break;
  }
  json["in_flight"] = selection.in_flight;
  json["tree"] = NodeJson(input, 0);
  Json without = Json::object();
  PutWho(input.run, input.tree.without_call(), &without);
  json["without_call"] = std::move(without);
  json["not_traced"] = RankRanges(MissingRanks(input.run));
  json["caveats"] = input.caveats;
  out.Write(Dump(json, 2) + "\n");
}

}  // namespace ddbg::analyzer
