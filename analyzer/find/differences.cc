#include "analyzer/find/differences.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/find/odd_settings.h"
#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr size_t kMostRisks = 3;

// A call that returned only because a peer took its part.
bool ProvesMeeting(const Process& process, const Call& call) {
  if (!call.known() || call.open() || call.result != 0 || (call.flags & kFlagNothingDone)) return false;
  CallKind kind = call.info().kind;
  auto comm = process.comms.find(call.comm);
  bool alone = comm == process.comms.end() || comm->second.size + comm->second.remote_size < 2;
  if (kind == CallKind::CommInit) return !alone && Accepted(call);
  if (IsNccl(call)) return false;  // returns when its work is on a stream
  bool meets = kind == CallKind::Collective || kind == CallKind::CommCreate || kind == CallKind::Recv;
  return meets && !alone;
}

bool IsMpiCall(const Context& context, const BadEvent& event) {
  if (event.process == kNoIndex || event.call == kNoIndex) return false;
  const Call& call = context.call(event.process, event.call);
  return call.known() && call.info().api == Api::Mpi;
}

// Ranks that call something else than the others, where just these run another build: the code is not the same.
bool IsWhereTheyDiffer(const OddSetting& setting, const Finding& finding) {
  return setting.sort == JobSetting::kBuild && !setting.ranks.empty() && setting.ranks == finding.culprit_ranks;
}

void ExplainByBuild(Context& context, Finding* finding) {
  for (const OddSetting& setting : OddSettings(context)) {
    if (!IsWhereTheyDiffer(setting, *finding)) continue;
    finding->evidence.insert(finding->evidence.begin(), "where it shows first: " + finding->summary);
    finding->summary = fmt::format("{}, and what {} call is not what the others call: {}", setting.sentence,
                                   setting.ranks.size() == 1 ? "it" : "they", finding->summary);
    finding->kind = setting.kind();
    finding->failure_class.clear();
    finding->confidence = std::min(finding->confidence, ConfidenceIn(setting));
    finding->first.field = setting.key;
    finding->first.expected = setting.usual;
    finding->first.actual = setting.odd;
    return;
  }
}

}  // namespace

bool NeverGotGoing(const Context& context) {
  for (const Process& process : context.run.processes) {
    if (process.dropped.records > 0 || process.lost_total() > 0) return false;
    for (const Call& call : process.calls)
      if (ProvesMeeting(process, call)) return false;
  }
  return true;
}

void ExplainByDifferences(Context& context, Finding* finding) {
  if (finding->proof == Proof::kMismatch || finding->proof == Proof::kMissing) ExplainByBuild(context, finding);
  bool stall = finding->kind == "library_stall", failed = finding->kind == "init_error";
  // Of an init that fails on several ranks a launcher shows nothing but that it took all down.
  bool taken_down = finding->kind == "process_killed" && finding->proof == Proof::kUnknown;
  if ((!stall && !failed && !taken_down) || !IsMpiCall(context, finding->first) || !NeverGotGoing(context)) return;
  for (const OddSetting& setting : OddSettings(context, SettingReader::kMpi)) {
    finding->evidence.insert(finding->evidence.begin(), setting.sentence);
    if (failed && setting.ranks != finding->culprit_ranks) continue;
    finding->evidence.insert(finding->evidence.begin() + 1, "what came of it: " + finding->summary);
    finding->summary = fmt::format("{}; the job never got through its first common call.", setting.sentence);
    finding->kind = setting.kind();
    finding->failure_class.clear();
    finding->wont_start = true;
    finding->confidence = ConfidenceIn(setting);
    finding->culprit_ranks = setting.ranks.empty() ? setting.both_sides : setting.ranks;
    size_t odd = setting.process;
    const Situation& s = context.situation(odd);
    finding->first = context.Event(odd, s.open_call != kNoIndex ? s.open_call : s.last_call);
    finding->first.field = setting.key;
    finding->first.expected = setting.usual;
    finding->first.actual = setting.odd;
    return;
  }
}

std::vector<std::string> RiskyDifferences(const Context& context) {
  std::vector<std::string> sentences;
  for (const OddSetting& setting : OddSettings(context)) {
    if (sentences.size() == kMostRisks) break;
    sentences.push_back(setting.sentence);
  }
  return sentences;
}

}  // namespace ddbg::analyzer
