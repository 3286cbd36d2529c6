#include "analyzer/match/message_times.h"

#include <algorithm>

#include "proto/operations.h"

namespace ddbg::analyzer {
namespace {

struct Done {
  uint64_t operation;
  int64_t wait_from_ns, end_ns;
  bool operator<(const Done& other) const { return operation < other.operation; }
};

// How the operations of a process were completed, by their number.
std::vector<Done> Completions(const Process& process) {
  std::vector<Done> all;
  const Call* wait = nullptr;
  for (const Call& call : process.calls) {
    const CallInfo* info = call.known() && !call.open() ? &call.info() : nullptr;
    if (info && (info->kind == CallKind::Wait || info->kind == CallKind::Test)) wait = &call;
    if (!CompletesOperation(info, call.call, call.aux, call.flags)) continue;
    int64_t end = call.start_ns + (call.call == kCallCompletion ? 0 : call.duration_ns), from = call.start_ns;
    // A completion record lies in the wait that completed several, or at its end.
    if (call.call == kCallCompletion && wait && wait->start_ns + wait->duration_ns >= end) from = wait->start_ns;
    all.push_back({call.aux, from, end});
  }
  std::sort(all.begin(), all.end());
  return all;
}

bool UsesOperations(const ChannelEnds& ends) {
  return std::any_of(ends.receives.begin(), ends.receives.end(), [](const End& end) { return end.operation != 0; });
}

}  // namespace

void ForEachMessage(const Run& run, const Messages& messages,
                    const std::function<void(const Channel&, const MessageTime&)>& visit) {
  std::vector<std::vector<Done>> done(run.processes.size());
  std::vector<bool> looked(run.processes.size());
  for (const auto& [channel, ends] : messages.channels) {
    if (ends.nccl || ends.receives.empty()) continue;
    size_t receiver = ends.receives[0].process;
    if (UsesOperations(ends) && !looked[receiver])
      done[receiver] = Completions(run.processes[receiver]), looked[receiver] = true;
    for (const End& receive : ends.receives) {
      if (receive.partner >= ends.sends.size() || !receive.completed) continue;
      const End& send = ends.sends[receive.partner];
      const Call& call = run.processes[receive.process].calls[receive.call];
      MessageTime time{&send, &receive, run.processes[send.process].calls[send.call].start_ns, call.start_ns, 0};
      if (receive.operation == 0) {
        if (call.open()) continue;
        time.received_ns = call.start_ns + call.duration_ns;
      } else {
        auto found = std::lower_bound(done[receiver].begin(), done[receiver].end(), Done{receive.operation, 0, 0});
        if (found == done[receiver].end() || found->operation != receive.operation) continue;
        time.wait_from_ns = found->wait_from_ns, time.received_ns = found->end_ns;
      }
      visit(channel, time);
    }
  }
}

}  // namespace ddbg::analyzer
