#include "analyzer/messages.h"

#include <algorithm>

#include "analyzer/match.h"

namespace ddbg::analyzer {
namespace {

enum class Direction { kNone, kSend, kReceive };

// PushStarts in shim/mpi/wrapper.h: Record::op of a started persistent operation is its direction.
Direction DirectionOf(const Call& call) {
  switch (call.info().kind) {
    case CallKind::Send: return Direction::kSend;
    case CallKind::Recv:
    case CallKind::Mrecv: return Direction::kReceive;
    case CallKind::Sendrecv: return call.flags & kFlagSecondHalf ? Direction::kReceive : Direction::kSend;
    case CallKind::Start:
      return call.op == 1 ? Direction::kSend : call.op == 2 ? Direction::kReceive : Direction::kNone;
    default: return Direction::kNone;
  }
}

bool IsNonBlocking(const Call& call) { return call.info().has_request; }

// How an operation ended, by its number: the completion record, or the wait or test that completed it alone.
struct Completion {
  int32_t peer, tag;
  bool cancelled, status_known;
};

using Completions = std::unordered_map<uint64_t, Completion>;

Completions CompletionsOf(const Process& process) {
  Completions completions;
  for (const Call& call : process.calls) {
    bool completes = call.call == kCallCompletion;
    if (call.known() && !call.open()) {
      CallKind kind = call.info().kind;
      completes = kind == CallKind::Wait || kind == CallKind::Test || kind == CallKind::RequestFree;
    }
    if (!completes || call.aux == 0 || (call.flags & kFlagNothingDone)) continue;
    completions[call.aux] = {call.peer, call.tag, (call.flags & kFlagCancelled) != 0,
                             (call.flags & kFlagStatusUnknown) == 0 && call.peer != kNoPeer};
  }
  return completions;
}

class Matcher {
 public:
  explicit Matcher(const Run& run) : run_(run) { messages_.posted.resize(run.processes.size()); }

  Messages Match() {
    for (size_t i = 0; i < run_.processes.size(); ++i) AddProcess(i);
    for (auto& [channel, ends] : messages_.channels) Pair(ends);
    return std::move(messages_);
  }

 private:
  void AddProcess(size_t index) {
    const Process& process = run_.processes[index];
    Completions completions = CompletionsOf(process);
    for (size_t i = 0; i < process.calls.size(); ++i) {
      const Call& call = process.calls[i];
      if (!call.known()) continue;
      if (IsNonBlocking(call) && call.aux) messages_.posted[index][call.aux] = i;
      if (call.info().kind == CallKind::Start && call.aux) messages_.posted[index][call.aux] = i;
      Direction direction = DirectionOf(call);
      if (direction != Direction::kNone && call.result == 0) AddEnd(index, i, direction, completions);
    }
  }

  void AddEnd(size_t index, size_t call_index, Direction direction, const Completions& completions) {
    const Process& process = run_.processes[index];
    const Call& call = process.calls[call_index];
    auto comm = process.comms.find(call.comm);
    // Ranks on an inter-communicator name the other side; a message to nobody needs no partner.
    if (comm == process.comms.end() || comm->second.remote_size > 0 || call.peer == kProcNull) return;
    End end{index, call_index, call.tag, 0, !call.open(), false, kNoIndex};
    int32_t peer = call.peer;
    if (IsNonBlocking(call) || call.info().kind == CallKind::Start) {
      end.operation = call.aux;
      end.completed = (call.flags & kFlagCompletedAtPost) != 0;
      auto completion = completions.find(call.aux);
      if (completion != completions.end()) {
        end.completed = true;
        end.cancelled = completion->second.cancelled;
        if (direction == Direction::kReceive && completion->second.status_known)
          peer = completion->second.peer, end.tag = completion->second.tag;
      }
    }
    if (end.cancelled || peer == kProcNull) return;
    if (direction == Direction::kReceive && (peer == kAnySource || end.tag == kAnyTag)) {
      messages_.wild.push_back({index, call_index, comm->second.uid, end.operation, end.tag});
      return;
    }
    int32_t own = comm->second.rank;
    Channel channel =
        direction == Direction::kSend ? Channel{comm->second.uid, own, peer} : Channel{comm->second.uid, peer, own};
    ChannelEnds& ends = messages_.channels[channel];
    (direction == Direction::kSend ? ends.sends : ends.receives).push_back(end);
  }

  static void Pair(ChannelEnds& ends) {
    std::map<int32_t, std::vector<size_t>> waiting;  // receives by tag, not yet paired
    std::map<int32_t, size_t> next;
    for (size_t i = 0; i < ends.receives.size(); ++i) waiting[ends.receives[i].tag].push_back(i);
    for (size_t i = 0; i < ends.sends.size(); ++i) {
      auto receives = waiting.find(ends.sends[i].tag);
      if (receives == waiting.end()) continue;
      size_t& at = next[ends.sends[i].tag];
      if (at >= receives->second.size()) continue;
      size_t receive = receives->second[at++];
      ends.sends[i].partner = receive;
      ends.receives[receive].partner = i;
    }
  }

  const Run& run_;
  Messages messages_;
};

}  // namespace

Messages MatchMessages(const Run& run) { return Matcher(run).Match(); }

}  // namespace ddbg::analyzer
