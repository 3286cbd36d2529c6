#include <algorithm>

#include "analyzer/model/comm_name.h"
#include "analyzer/model/kinds.h"
#include "analyzer/render/diagnosis.h"
#include "analyzer/render/json.h"
#include "analyzer/render/playbook.h"
#include "analyzer/report/run_summary.h"
#include "analyzer/verdict/playbook_values.h"

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
  json["step"] = event.step < 0 ? Json() : Json(event.step);
  if (event.step >= 0) json["step_source"] = event.step_source;
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

// What the verdict carries to its reader: next steps, and the rest of its playbook, filled in.
void PutPlaybook(const Run& run, const Finding& finding, const Playbooks& playbooks, Json* json) {
  Playbook playbook = Filled(playbooks.Of(finding.kind, ClassOf(finding)), ValuesOf(run, finding));
  (*json)["next_steps"] = playbook.next_steps;
  (*json)["playbook"] = PlaybookJson(playbook);
}

Json ReachedJson(const Reached& reached) {
  Json json = {{"step", reached.step ? Json(*reached.step) : Json()},
               {"step_of_all_ranks", reached.step_of_all ? Json(*reached.step_of_all) : Json()},
               {"checkpoint_step", reached.checkpoint_step ? Json(*reached.checkpoint_step) : Json()}};
  if (reached.step) json["step_source"] = reached.step_source;
  json["last_collective"] =
      reached.call.empty() ? Json() : Json{{"call", reached.call}, {"comm", reached.comm}, {"seq", reached.seq}};
  return json;
}

Json AttemptOf(const EarlierAttempt& attempt) {
  Json json = {{"attempt_id", attempt.number}};
  if (!attempt.diagnosis) {
    json["not_looked_at"] = attempt.why_not;
    return json;
  }
  const Diagnosis& diagnosis = *attempt.diagnosis;
  json["verdict"] = VerdictText(diagnosis.verdict);
  json["kind"] = diagnosis.findings.empty() ? Json() : Json(diagnosis.findings[0].kind);
  json["culprit_ranks"] = diagnosis.findings.empty() ? Json::array() : Json(diagnosis.findings[0].culprit_ranks);
  json["summary"] = diagnosis.summary;
  json["reached"] = ReachedJson(attempt.reached);
  return json;
}

}  // namespace

void PrintDiagnosisJson(const Run& run, const Diagnosis& diagnosis, const Playbooks& playbooks,
                        const std::vector<EarlierAttempt>& earlier, Output& out, JsonLayout layout) {
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
    PutPlaybook(run, first, playbooks, &json);
  } else {
    for (const char* key : {"class", "phase", "kind", "first_bad_event", "playbook"}) json[key] = nullptr;
    for (const char* key : {"culprit_ranks", "evidence", "next_steps"}) json[key] = Json::array();
  }
  json["summary"] = diagnosis.summary;
  json["confidence"] = diagnosis.confidence;
  json["caveats"] = diagnosis.caveats;
  json["findings"] = Json::array();
  for (const Finding& finding : diagnosis.findings) json["findings"].push_back(FindingOf(run, finding));
  if (!earlier.empty()) json["reached"] = ReachedJson(ReachedBy(run));  // as that of those before
  json["earlier_attempts"] = Json::array();
  for (const EarlierAttempt& attempt : earlier) json["earlier_attempts"].push_back(AttemptOf(attempt));
  out.Write(Dump(json, layout == JsonLayout::kOneLine ? -1 : 2) + "\n");
}

}  // namespace ddbg::analyzer
