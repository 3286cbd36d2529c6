#include "analyzer/match/messages.h"

#include <algorithm>

#include "analyzer/match/match.h"
#include "analyzer/model/call_fields.h"
#include "proto/operations.h"

namespace ddbg::analyzer {
namespace {

Direction DirectionOf(const Call& call) { return ddbg::DirectionOf(call.info(), call.op, call.flags); }

// How an operation ended, by its number: the completion record, or the wait or test that completed it alone.
struct Completion {
  int32_t peer, tag;
  bool cancelled, status_known;
};

using Completions = std::unordered_map<uint64_t, Completion>;

Completions CompletionsOf(const Process& process) {
  Completions completions;
  for (const Call& call : process.calls) {
    const CallInfo* info = call.known() && !call.open() ? &call.info() : nullptr;
    if (!CompletesOperation(info, call.call, call.aux, call.flags)) continue;
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
    for (const Process& process : run_.processes) AddDropped(process);
    for (auto& [channel, ends] : messages_.channels) Pair(ends);
    return std::move(messages_);
  }

 private:
  void AddProcess(size_t index) {
    const Process& process = run_.processes[index];
    Completions completions = CompletionsOf(process);
    known_.clear();
    for (size_t i = 0; i < process.calls.size(); ++i) {
      const Call& call = process.calls[i];
      if (!call.known()) continue;
      if (PostsOperation(call.info()) && call.aux) messages_.posted[index][call.aux] = i;
      Direction direction = DirectionOf(call);
      bool captured = IsNccl(call) && (call.flags & kFlagCapturing);
      if (direction != Direction::kNone && Accepted(call) && !captured) AddEnd(index, i, direction, completions);
    }
  }

  void AddEnd(size_t index, size_t call_index, Direction direction, const Completions& completions) {
    const Process& process = run_.processes[index];
    const Call& call = process.calls[call_index];
    auto comm = process.comms.find(call.comm);
    // Ranks on an inter-communicator name the other side; a message to nobody needs no partner.
    if (comm == process.comms.end() || comm->second.remote_size > 0 || call.peer == kProcNull) return;
    End end{index, call_index, comm->second.nccl ? 0 : call.tag, 0, !call.open(), false, kNoIndex};
    int32_t peer = call.peer;
    if (PostsOperation(call.info())) {
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
    ChannelEnds*& known = known_[{call.comm, peer, direction}];
    if (!known) {
      Channel channel =
          direction == Direction::kSend ? Channel{comm->second.uid, own, peer} : Channel{comm->second.uid, peer, own};
      known = &messages_.channels[channel];
    }
    ChannelEnds& ends = *known;
    ends.nccl = comm->second.nccl;
    (direction == Direction::kSend ? ends.sends : ends.receives).push_back(end);
  }

  // Messages of detail that was dropped: those that follow are counted from there.
  void AddDropped(const Process& process) {
    messages_.uncounted = messages_.uncounted || process.dropped.uncounted;
    for (const DroppedMessages& dropped : process.dropped.messages) {
      Call call;
      call.call = dropped.call;
      auto comm = process.comms.find(dropped.comm);
      if (!call.known() || comm == process.comms.end() || comm->second.remote_size > 0) continue;
      if (dropped.peer == kProcNull || dropped.peer == kAnySource || dropped.tag == kAnyTag) continue;
      int32_t own = comm->second.rank;
      uint64_t uid = comm->second.uid;
      int32_t tag = comm->second.nccl ? 0 : dropped.tag;
      switch (ddbg::DirectionOf(call.info(), dropped.op, dropped.flags)) {
        case Direction::kSend: messages_.channels[{uid, own, dropped.peer}].passed[tag].sends += dropped.times; break;
        case Direction::kReceive:
          messages_.channels[{uid, dropped.peer, own}].passed[tag].receives += dropped.times;
          break;
        case Direction::kNone: break;
      }
    }
  }

  // The k-th send of a tag and the k-th receive, counted from the beginning of the run.
  static void Pair(ChannelEnds& ends) {
    std::map<int32_t, std::vector<size_t>> receives;
    for (size_t i = 0; i < ends.receives.size(); ++i) receives[ends.receives[i].tag].push_back(i);
    std::map<int32_t, uint64_t> sends;
    for (size_t i = 0; i < ends.sends.size(); ++i) {
      int32_t tag = ends.sends[i].tag;
      const Passed& passed = ends.passed[tag];
      uint64_t number = passed.sends + sends[tag]++;
      const std::vector<size_t>& of_tag = receives[tag];
      if (number < passed.receives) {
        ends.sends[i].partner = kPartnerDropped;
      } else if (number - passed.receives < of_tag.size()) {
        size_t receive = of_tag[number - passed.receives];
        ends.sends[i].partner = receive;
        ends.receives[receive].partner = i;
      }
    }
    for (const auto& [tag, of_tag] : receives) {
      const Passed& passed = ends.passed[tag];
      for (size_t k = 0; k < of_tag.size() && passed.receives + k < passed.sends; ++k)
        ends.receives[of_tag[k]].partner = kPartnerDropped;
    }
  }

  struct Way {
    uint32_t comm;
    int32_t peer;
    Direction direction;
    bool operator==(const Way&) const = default;
  };
  struct WayHash {
    size_t operator()(const Way& way) const {
      uint64_t key = uint64_t{way.comm} << 33 | uint64_t{static_cast<uint32_t>(way.peer)} << 1 |
                     (way.direction == Direction::kSend ? 1 : 0);
      return static_cast<size_t>(key * 0x9e3779b97f4a7c15);
    }
  };

  const Run& run_;
  Messages messages_;
  std::unordered_map<Way, ChannelEnds*, WayHash> known_;  // of the process that is being added
};

}  // namespace

Messages MatchMessages(const Run& run) { return Matcher(run).Match(); }

}  // namespace ddbg::analyzer
