// Collectives of all ranks side by side: by communicator uid, then sequence number, then member. Built once per run;
// refers to it by index.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// Indices into Process::calls by sequence number, from the first one that is in the trace: of a long run, or of the end
// of one, the numbers before are many and say nothing.
class SeqCalls {
 public:
  // kNoIndex: not in the trace.
  size_t operator[](size_t seq) const {
    return seq < first_ || seq - first_ >= calls_.size() || calls_[seq - first_] == kNone ? kNoIndex
                                                                                          : calls_[seq - first_];
  }
  // One more than the last sequence number that is known to have been called.
  size_t size() const { return end_; }
  bool empty() const { return end_ == 0; }
  // The first sequence number that is in the trace; size() if there is none.
  size_t first() const { return calls_.empty() ? end_ : first_; }

  void Set(size_t seq, size_t call);
  // It is known to have been called, and nothing else of it.
  void Extend(size_t end) { end_ = std::max(end_, end); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  size_t first_ = 0, end_ = 0;
  std::vector<uint32_t> calls_;
};

// What one process did on one communicator.
struct Member {
  size_t process = 0;
  uint32_t comm_id = 0;
  int32_t comm_rank = -1;
  SeqCalls calls;  // by sequence number

  size_t At(size_t seq) const { return calls[seq]; }
};

struct CommGroup {
  uint64_t uid = 0;
  std::string name;   // for people
  uint32_t size = 0;  // of all members, both sides of an inter-communicator
  bool inter = false;
  bool nccl = false;
  bool persistent = false;      // of the starts of a persistent collective
  std::vector<Member> members;  // traced ones, by world rank; NCCL: a process with several devices may be several
  size_t longest = 0;           // one more than the last sequence number of any member
  size_t first = 0;             // the first one that is in the trace of any member; longest if there is none

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

// World rank of a communicator's member; -1 if unknown. Of an inter-communicator: by its number among the members of both
// sides, which PeerIn gives.
int32_t WorldRank(const Communicator& comm, int32_t comm_rank);

// The peer of a message among the communicator's members; what is no rank stays as it is. kNoPeer: on the other side of
// an inter-communicator of which this one alone is known.
int32_t PeerIn(const Communicator& comm, int32_t peer);

}  // namespace ddbg::analyzer
