// Carries the turns of a loop from processes where they are known to the others. A collective is the same event on all
// its members by (communicator, sequence number), and the k-th message of a pair is on both ends: what is in turn k on
// one process is in turn k on all.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/match/match.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// Of one process. Turn k has the calls [edge[k], edge[k + 1]); the last one may have begun and not ended. All processes
// have the same number of edges, or none where no turn is known. A turn that a process has no calls of is empty.
using TurnEdges = std::vector<size_t>;

// What turns end with, as CallKinds tell it; 0: not known.
struct TurnEnd {
  uint64_t alike = 0;                     // most of them
  std::vector<uint64_t> exact, comm_uid;  // by turn, where the last call is a collective; may be empty
  size_t calls_a_turn = 0;
};

// Fills in the edges of every process that has to do with one whose edges are known.
void SpreadTurns(const Run& run, const Matching& matching, const TurnEnd& end, std::vector<TurnEdges>* edges);

}  // namespace ddbg::analyzer
