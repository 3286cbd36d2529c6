#include <algorithm>

#include "analyzer/comm_name.h"
#include "analyzer/kinds.h"
#include "analyzer/render/diagnosis.h"
#include "analyzer/render/json.h"
#include "analyzer/run_summary.h"

namespace ddbg::analyzer {
namespace {

const char* VerdictText(Diagnosis::Verdict verdict) {
  switch (verdict) {
    case Diagnosis::kHealthy: return "healthy";
    case Diagnosis::kFault: return "fault";
    case Diagnosis::kUnknown: break;
  }
  return "unknown";
}

Json StackOf(const BadEvent& event) {
  Json stack = Json::array();
  for (size_t i = 0; i < event.stack.size(); ++i) {
    const Frame& frame = event.stack[i];
    Json json = {{"function", frame.function}, {"file", frame.file}, {"line", frame.line}, {"module", frame.module}};
    if (frame.python) json["language"] = "python";
    if (static_cast<int>(i) == event.source) json["source"] = true;
    stack.push_back(std::move(json));
  }
  return stack;
}

// What is a number in the program is one here: a count, a root, a tag.
Json Value(const std::string& text) {
  bool number = !text.empty() && text.size() < 19 &&
                text.find_first_not_of("0123456789", text[0] == '-') == std::string::npos && text != "-";
  return number ? Json(std::stoll(text)) : Json(text);
}

Json EventOf(const Run& run, const BadEvent& event) {
  Json json = {{"rank", event.rank}};
  if (event.process != kNoIndex) {
    json["host"] = run.processes[event.process].host;
    json["pid"] = run.processes[event.process].pid;
  }
  json["step"] = nullptr;  // no step marks are recorded yet
  if (!event.comm.empty()) json["comm"] = event.comm, json["comm_uid"] = CommUidText(event.comm_uid);
  json["seq"] = event.seq < 0 ? Json() : Json(event.seq);
  json["call"] = event.call_name;
  json["field"] = event.field;
  json["expected"] = Value(event.expected);
  json["actual"] = Value(event.actual);
  json["t_ns"] = event.t_ns;
  json["stack"] = StackOf(event);
  return json;
}

Json FindingOf(const Run& run, const Finding& finding) {
  return {{"kind", finding.kind},
          {"class", ClassOf(finding)},
          {"phase", finding.wont_start ? "wont_start" : "running"},
          {"first_bad_event", EventOf(run, finding.first)},
          {"culprit_ranks", finding.culprit_ranks},
          {"summary", finding.summary},
          {"evidence", finding.evidence},
          {"confidence", finding.confidence}};
}

Json NextSteps(const Finding& finding) {
  Json steps = Json::array();
  for (std::string_view step : InfoOf(finding.kind).next_steps)
    if (!step.empty()) steps.push_back(step);
  return steps;
}

}  // namespace

void PrintDiagnosisJson(const Run& run, const Diagnosis& diagnosis, Output& out) {
  Json json = {{"schema", "ddbg.diagnosis/1"},
               {"run_id", run.run_id},
               {"attempt_id", run.attempt_id},
               {"world_size", WorldSize(run)},
               {"verdict", VerdictText(diagnosis.verdict)}};
  if (!diagnosis.findings.empty()) {
    const Finding& first = diagnosis.findings[0];
    const Json fields = FindingOf(run, first);
    for (const auto& [key, value] : fields.items())
      if (key != "summary" && key != "evidence" && key != "confidence") json[key] = value;
    json["evidence"] = first.evidence;
    json["next_steps"] = NextSteps(first);
  } else {
    for (const char* key : {"class", "phase", "kind", "first_bad_event"}) json[key] = nullptr;
    for (const char* key : {"culprit_ranks", "evidence", "next_steps"}) json[key] = Json::array();
  }
  json["summary"] = diagnosis.summary;
  json["confidence"] = diagnosis.confidence;
  json["caveats"] = diagnosis.caveats;
  json["findings"] = Json::array();
  for (const Finding& finding : diagnosis.findings) json["findings"].push_back(FindingOf(run, finding));
  out.Write(Dump(json, 2) + "\n");
}

}  // namespace ddbg::analyzer
