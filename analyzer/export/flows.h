// Numbers for the arrows of a timeline: between the members of a collective, and from a send to where its receive was
// over. Equal numbers belong together; all are different from 0. Built once per run.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/match/match.h"
#include "analyzer/match/messages.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

class Flows {
 public:
  Flows(const Run& run, const Matching& matching, const Messages& messages);

  // Of the seq-th collective of matching.groups[group].
  uint64_t Collective(size_t group, uint64_t seq) const { return first_of_group_[group] + seq; }
  // Of the collective that a call is; 0: none, or nobody else is known to have come.
  uint64_t Collective(size_t process, const Call& call) const;

  struct MessageEnd {
    size_t call;  // index into Process::calls
    uint64_t flow;
    bool receives;  // the message has arrived when the call returns
  };
  // Ends of messages whose other end is known, ascending by call. Of a receive it is what completed it: the call
  // itself, a wait or test, or a completion record.
  const std::vector<MessageEnd>& Messages(size_t process) const { return ends_[process]; }

 private:
  void AddMessages(const Run& run, const analyzer::Messages& messages, uint64_t next);

  const Matching& matching_;
  std::vector<uint64_t> first_of_group_;
  std::vector<std::unordered_map<uint32_t, size_t>> group_of_comm_;  // by process: communicator id → group
  std::vector<std::vector<MessageEnd>> ends_;
};

}  // namespace ddbg::analyzer
