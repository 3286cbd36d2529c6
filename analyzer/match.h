// Collectives of all ranks side by side: by communicator uid, then sequence number, then member. Built once per run;
// refers to it by index.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/finding.h"
#include "analyzer/model.h"

namespace ddbg::analyzer {

// What one process did on one communicator.
struct Member {
  size_t process = 0;
  uint32_t comm_id = 0;
  int32_t comm_rank = -1;
  std::vector<size_t> calls;  // by sequence number: index into Process::calls; kNoIndex: not in the trace

  size_t At(size_t seq) const { return seq < calls.size() ? calls[seq] : kNoIndex; }
};

struct CommGroup {
  uint64_t uid = 0;
  std::string name;   // for people
  uint32_t size = 0;  // of all members, both sides of an inter-communicator
  bool inter = false;
  bool nccl = false;
  std::vector<Member> members;  // traced ones, by world rank; NCCL: a process with several devices may be several
  size_t longest = 0;           // sequence numbers seen on any member

  bool complete() const { return members.size() == size; }
  const Member* OfCommRank(int32_t comm_rank) const;  // nullptr if it was not traced
};

struct Matching {
  std::vector<CommGroup> groups;  // MPI_COMM_WORLD first, then by first use
  std::map<uint64_t, size_t> by_uid;

  const CommGroup* Group(uint64_t uid) const {
    auto found = by_uid.find(uid);
    return found == by_uid.end() ? nullptr : &groups[found->second];
  }
};

Matching MatchCollectives(const Run& run);

// uid of the communicator a call was made on; 0 if it is not known.
uint64_t UidOf(const Process& process, const Call& call);

// World rank of a communicator's member; -1 if unknown. For an inter-communicator the peer is on the other side: -1.
int32_t WorldRank(const Communicator& comm, int32_t comm_rank);

}  // namespace ddbg::analyzer
