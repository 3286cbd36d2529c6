#include "analyzer/find/nccl_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr uint64_t kSuccess = 0, kInProgress = 7;

// Of a call in a group: the end of the group, where it really happens. kNoIndex: that has not come.
size_t GroupEndOf(const Process& process, size_t call) {
  for (size_t i = call + 1; i < process.calls.size(); ++i) {
    const Call& end = process.calls[i];
    if (end.thread == process.calls[call].thread && IsNccl(end) && end.info().kind == CallKind::GroupEnd &&
        end.tag <= 1)
      return i;
  }
  return kNoIndex;
}

// A non-blocking communicator says later how its init went: by being asked, or by being used.
void LookForOutcome(const Process& process, size_t from, Claim* claim) {
  claim->state = Claim::kOpen;
  for (size_t i = from; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (!IsNccl(call) || call.comm != claim->comm->id) continue;
    CallKind kind = call.info().kind;
    if (kind == CallKind::AsyncError && call.aux == kInProgress) continue;
    if (kind == CallKind::AsyncError && call.aux != kSuccess) {
      claim->state = Claim::kFailed;
      claim->error = std::string(NcclResultName(call.aux));
      return;
    }
    if (kind == CallKind::AsyncError || (Accepted(call) && !call.open() && kind != CallKind::CommAbort)) {
      claim->state = Claim::kDone;
      return;
    }
  }
}

void FindState(const Context& context, Claim* claim) {
  const Process& process = context.process(claim->process);
  const Call* call = &process.calls[claim->call];
  size_t from = claim->call + 1;
  if (call->flags & kFlagGrouped && Accepted(*call)) {
    size_t end = GroupEndOf(process, claim->call);
    if (end == kNoIndex) return;  // not begun: neither open nor failed
    call = &process.calls[end];
    from = end + 1;
  }
  if (call->open())
    claim->state = Claim::kOpen;
  else if (call->result == 0)
    claim->state = Claim::kDone;
  else if (Accepted(*call))
    LookForOutcome(process, from, claim);
  else
    claim->state = Claim::kFailed, claim->error = ResultText(*call);
  if (claim->state == Claim::kOpen) claim->seconds = context.OpenSeconds(claim->process, claim->call);
}

// Of a process that never says which device it means: the one of its last cudaSetDevice before the init.
std::string BusIdOf(const Process& process, const Claim& claim) {
  if (!claim.comm->device_id.empty()) return claim.comm->device_id;
  int32_t ordinal = 0;
  for (size_t i = 0; i < claim.call; ++i) {
    const Call& call = process.calls[i];
    bool sets = IsCuda(call) && call.info().kind == CallKind::DeviceSet && call.result == 0;
    if (sets && call.thread == process.calls[claim.call].thread) ordinal = call.peer;
  }
  for (const Device& device : process.devices)
    if (device.ordinal == ordinal) return device.bus_id;
  return "";
}

void MarkRetries(std::vector<Meeting>* meetings) {
  std::unordered_map<size_t, std::vector<const Claim*>> done;  // by process
  for (const Meeting& meeting : *meetings)
    for (const Claim& claim : meeting.claims)
      if (claim.state == Claim::kDone) done[claim.process].push_back(&claim);
  for (Meeting& meeting : *meetings)
    for (Claim& claim : meeting.claims) {
      if (claim.state != Claim::kFailed) continue;
      const std::vector<const Claim*>& others = done[claim.process];
      claim.retried = std::any_of(others.begin(), others.end(), [&](const Claim* other) {
        return other->call > claim.call && other->comm->size == claim.comm->size;
      });
    }
}

std::string StateText(const Claim& claim) {
  switch (claim.state) {
    case Claim::kDone: return "done";
    case Claim::kFailed: return "failed with " + claim.error;
    case Claim::kOpen: break;
  }
  return fmt::format("not done for {:.1f} s", claim.seconds);
}

}  // namespace

std::vector<Meeting> FindMeetings(const Context& context) {
  std::map<uint64_t, Meeting> by_uid;
  for (size_t p = 0; p < context.run.processes.size(); ++p) {
    const Process& process = context.process(p);
    for (size_t i = 0; i < process.calls.size(); ++i) {
      const Call& call = process.calls[i];
      if (!call.known() || call.info().kind != CallKind::CommInit) continue;
      auto comm = process.comms.find(call.comm);
      if (comm == process.comms.end() || comm->second.uid == 0 || comm->second.size < 2) continue;
      Claim claim;
      claim.process = p;
      claim.call = i;
      claim.comm = &comm->second;
      FindState(context, &claim);
      claim.bus_id = BusIdOf(process, claim);
      Meeting& meeting = by_uid[comm->second.uid];
      meeting.uid = comm->second.uid;
      meeting.claims.push_back(std::move(claim));
    }
  }
  std::vector<Meeting> meetings;
  for (auto& [uid, meeting] : by_uid) meetings.push_back(std::move(meeting));
  auto start = [&](const Meeting& meeting) {
    return context.StartNs(meeting.claims[0].process, meeting.claims[0].call);
  };
  std::sort(meetings.begin(), meetings.end(), [&](const Meeting& a, const Meeting& b) { return start(a) < start(b); });
  MarkRetries(&meetings);
  return meetings;
}

// Parts of one device have one bus id and a UUID each.
std::string DeviceOf(const Context& context, const Claim& claim) {
  if (claim.bus_id.empty()) return "";
  const Process& process = context.process(claim.process);
  std::string name = process.host + "/" + claim.bus_id;
  for (const Device& device : process.devices)
    if (device.bus_id == claim.bus_id) name += "/" + device.uuid;
  return name;
}

bool SetsDevice(const Context& context, size_t process) {
  const std::vector<Call>& calls = context.process(process).calls;
  return std::any_of(calls.begin(), calls.end(),
                     [](const Call& call) { return IsCuda(call) && call.info().kind == CallKind::DeviceSet; });
}

double Waited(const Meeting& meeting) {
  double waited = 0;
  for (const Claim& claim : meeting.claims)
    if (claim.state == Claim::kOpen) waited = std::max(waited, claim.seconds);
  return waited;
}

Finding BeginFinding(Context& context, const char* kind, const Claim& claim, const char* field, std::string expected,
                     std::string actual) {
  Finding finding;
  finding.kind = kind;
  finding.proof = Proof::kStartUp;
  finding.wont_start = true;
  finding.first = context.Event(claim.process, claim.call);
  finding.first.field = field;
  finding.first.expected = std::move(expected);
  finding.first.actual = std::move(actual);
  return finding;
}

void FinishFinding(Context& context, const Meeting& meeting, Finding* finding) {
  std::vector<int32_t>& culprits = finding->culprit_ranks;
  std::sort(culprits.begin(), culprits.end());
  culprits.erase(std::unique(culprits.begin(), culprits.end()), culprits.end());
  for (const Claim& claim : meeting.claims) {
    std::string line = context.Line(claim.process, claim.call);
    finding->evidence.push_back(fmt::format("rank {}: {}{}, {}", context.rank(claim.process),
                                            context.Describe(claim.process, claim.call),
                                            line.empty() ? "" : " at " + line, StateText(claim)));
  }
}

}  // namespace ddbg::analyzer
