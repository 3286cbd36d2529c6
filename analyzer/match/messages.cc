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
    taken_.clear();
    for (size_t i = 0; i < process.calls.size(); ++i) {
      const Call& call = process.calls[i];
      if (!call.known()) continue;
      if (PostsOperation(call.info()) && call.aux) messages_.posted[index][call.aux] = i;
      Direction direction = DirectionOf(call);
      bool captured = IsNccl(call) && (call.flags & kFlagCapturing);
      if (direction != Direction::kNone && (Accepted(call) || MayHaveTaken(call, direction)) && !captured)
        AddEnd(index, i, direction, completions);
      else if (TakesMessage(call))
        AddTaken(index, i);
    }
  }

  // A receive that failed for want of room has used its message up.
  static bool MayHaveTaken(const Call& call, Direction direction) {
    return direction == Direction::kReceive && call.info().api == Api::Mpi && !call.info().has_request;
  }

  // MPI_Mprobe that found one: no later receive gets that message, whenever MPI_Mrecv is called.
  static bool TakesMessage(const Call& call) {
    return call.info().kind == CallKind::Probe && call.seq != 0 && !call.open() && call.result == 0;
  }

  void AddTaken(size_t index, size_t call_index) {
    const Call& call = run_.processes[index].calls[call_index];
    auto comm = run_.processes[index].comms.find(call.comm);
    if (comm == run_.processes[index].comms.end()) return;
    int32_t peer = PeerIn(comm->second, call.peer);
    if (peer < 0) return;
    std::vector<End>& receives = EndsOf(comm->second, call, peer, Direction::kReceive).receives;
    taken_[call.seq] = {&receives, receives.size()};
    End end{index, call_index, call.tag};
    end.only_taken = true;
    receives.push_back(end);
  }

  void AddEnd(size_t index, size_t call_index, Direction direction, const Completions& completions) {
    const Process& process = run_.processes[index];
    const Call& call = process.calls[call_index];
    auto comm = process.comms.find(call.comm);
    if (comm == process.comms.end() || call.peer == kProcNull) return;  // a message to nobody needs no partner
    End end{index, call_index, comm->second.nccl ? 0 : call.tag};
    end.completed = !call.open();
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
    peer = PeerIn(comm->second, peer);
    if (end.cancelled || peer == kProcNull || peer == kNoPeer) return;
    if (direction == Direction::kReceive && (peer == kAnySource || end.tag == kAnyTag)) {
      messages_.wild.push_back({index, call_index, comm->second.uid, end.operation, end.tag});
      return;
    }
    if (auto taken = taken_.find(call.seq); call.info().kind == CallKind::Mrecv && taken != taken_.end()) {
      (*taken->second.receives)[taken->second.index] = end;
      return;
    }
    end.failed = !Accepted(call);
    ChannelEnds& ends = EndsOf(comm->second, call, peer, direction);
    ends.nccl = comm->second.nccl;
    (direction == Direction::kSend ? ends.sends : ends.receives).push_back(end);
  }

  ChannelEnds& EndsOf(const Communicator& comm, const Call& call, int32_t peer, Direction direction) {
    ChannelEnds*& known = known_[{call.comm, peer, direction}];
    if (!known) {
      Channel channel =
          direction == Direction::kSend ? Channel{comm.uid, comm.rank, peer} : Channel{comm.uid, peer, comm.rank};
      known = &messages_.channels[channel];
    }
    return *known;
  }

  // Messages of detail that was dropped: those that follow are counted from there.
  void AddDropped(const Process& process) {
    messages_.uncounted = messages_.uncounted || process.dropped.uncounted;
    for (const DroppedMessages& dropped : process.dropped.messages) {
      Call call;
      call.call = dropped.call;
      auto comm = process.comms.find(dropped.comm);
      if (!call.known() || comm == process.comms.end() || dropped.tag == kAnyTag) continue;
      int32_t peer = PeerIn(comm->second, dropped.peer);
      if (peer < 0) continue;
      int32_t own = comm->second.rank;
      uint64_t uid = comm->second.uid;
      int32_t tag = comm->second.nccl ? 0 : dropped.tag;
      switch (ddbg::DirectionOf(call.info(), dropped.op, dropped.flags)) {
        case Direction::kSend: messages_.channels[{uid, own, peer}].passed[tag].sends += dropped.times; break;
        case Direction::kReceive:
          messages_.channels[{uid, peer, own}].passed[tag].receives += dropped.times;
          break;
        case Direction::kNone: break;
      }
    }
  }

  // Receives that failed for another reason than that their message was too long left it where it was.
  void DropFailed(ChannelEnds* ends) const {
    auto failed = [](const End& end) { return end.failed; };
    if (std::none_of(ends->receives.begin(), ends->receives.end(), failed)) return;
    std::map<int32_t, std::vector<const End*>> sends;
    for (const End& send : ends->sends) sends[send.tag].push_back(&send);
    std::map<int32_t, uint64_t> receives;
    std::erase_if(ends->receives, [&](const End& receive) {
      const Passed& passed = ends->passed[receive.tag];
      uint64_t number = passed.receives + receives[receive.tag];
      const std::vector<const End*>& of_tag = sends[receive.tag];
      bool met = number >= passed.sends && number - passed.sends < of_tag.size();
      if (receive.failed && !(met && BytesOf(*of_tag[number - passed.sends]) > BytesOf(receive))) return true;
      ++receives[receive.tag];
      return false;
    });
  }

  // 0: not known.
  uint64_t BytesOf(const End& end) const {
    const Process& process = run_.processes[end.process];
    const Call& call = process.calls[end.call];
    auto type = process.dtypes.find(call.dtype);
    return type == process.dtypes.end() ? 0 : call.count * type->second.size;
  }

  // The k-th send of a tag and the k-th receive, counted from the beginning of the run.
  void Pair(ChannelEnds& ends) const {
    DropFailed(&ends);
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

  struct Place {
    std::vector<End>* receives;
    size_t index;
  };

  const Run& run_;
  Messages messages_;
  std::unordered_map<uint32_t, Place> taken_;  // by the number of a message that MPI_Mprobe took
  std::unordered_map<Way, ChannelEnds*, WayHash> known_;  // of the process that is being added
};

}  // namespace

Messages MatchMessages(const Run& run) { return Matcher(run).Match(); }

}  // namespace ddbg::analyzer
