#include "analyzer/export/flows.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"
#include "proto/operations.h"

namespace ddbg::analyzer {
namespace {

// The record that ended each operation, by its number.
std::unordered_map<uint64_t, size_t> CompletingRecords(const Process& process) {
  std::unordered_map<uint64_t, size_t> records;
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    const CallInfo* info = call.known() && !call.open() ? &call.info() : nullptr;
    if (CompletesOperation(info, call.call, call.aux, call.flags)) records[call.aux] = i;
  }
  return records;
}

}  // namespace

Flows::Flows(const Run& run, const Matching& matching, const analyzer::Messages& messages)
    : matching_(matching), group_of_comm_(run.processes.size()), ends_(run.processes.size()) {
  uint64_t next = 1;
  for (size_t group = 0; group < matching.groups.size(); ++group) {
    first_of_group_.push_back(next);
    next += matching.groups[group].longest;
    for (const Member& member : matching.groups[group].members) group_of_comm_[member.process][member.comm_id] = group;
  }
  AddMessages(run, messages, next);
}

uint64_t Flows::Collective(size_t process, const Call& call) const {
  if (call.comm == 0 || !FieldsOf(call).seq || (call.flags & kFlagSecondHalf)) return 0;
  auto group = group_of_comm_[process].find(call.comm);
  if (group == group_of_comm_[process].end()) return 0;
  int came = 0;
  for (const Member& member : matching_.groups[group->second].members)
    if (member.At(call.seq) != kNoIndex && ++came == 2) return Collective(group->second, call.seq);
  return 0;
}

void Flows::AddMessages(const Run& run, const analyzer::Messages& messages, uint64_t next) {
  std::vector<std::vector<MessageEnd>> pending(run.processes.size());  // receives, by the call that posted them
  for (const auto& [channel, ends] : messages.channels) {
    for (const End& send : ends.sends) {
      if (send.partner == kNoIndex || send.partner == kPartnerDropped) continue;
      const End& receive = ends.receives[send.partner];
      if (!receive.completed) continue;
      ends_[send.process].push_back({send.call, next, false});
      pending[receive.process].push_back({receive.call, next++, true});
    }
  }
  for (size_t i = 0; i < run.processes.size(); ++i) {
    if (!pending[i].empty()) {
      const Process& process = run.processes[i];
      std::unordered_map<uint64_t, size_t> completing = CompletingRecords(process);
      for (MessageEnd& end : pending[i]) {
        const Call& posted = process.calls[end.call];
        auto record = PostsOperation(posted.info()) ? completing.find(posted.aux) : completing.end();
        if (record != completing.end()) end.call = record->second;
        ends_[i].push_back(end);
      }
    }
    std::sort(ends_[i].begin(), ends_[i].end(),
              [](const MessageEnd& a, const MessageEnd& b) { return a.call < b.call; });
  }
}

}  // namespace ddbg::analyzer
