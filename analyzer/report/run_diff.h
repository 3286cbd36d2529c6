// What two runs of one program do differently: the structure of their calls, then how long these take. Ranks are
// compared with the same rank of the other run, one after the other: beside the runs only one rank's sequences are
// held.
//
// A rank's calls are taken apart into lanes, whose order the program fixes: the collectives of each communicator, the
// sends to each destination on it, the receives on it, and what begins and ends the job. What depends on timing is left
// out: tests and polls, which request a wait completed, whom a receive from anyone got its message from, CUDA's calls.
// Communicators are the same where they were made the same way: by parent, how-many-th creation and members; NCCL's by
// the order in which a rank made them, since their ids are random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/align/timeline.h"
#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"
#include "analyzer/stacks/stack_view.h"

namespace ddbg::analyzer {

struct StructuralDifference {
  enum Kind {
    kChanged,      // a call has another field, or another call is in its place
    kExtra,        // calls that the good run does not have
    kMissing,      // calls that the bad run does not have
    kEndsEarly,    // the bad run's calls are the same, as far as they go
    kRepetitions,  // the same loop, another number of turns
  };
  Kind kind = kChanged;
  std::string lane;                     // "collectives on MPI_COMM_WORLD"
  uint64_t position = 0;                // n-th call of the lane, from 0
  uint64_t calls = 0;                   // kExtra, kMissing, kEndsEarly: how many; kRepetitions: of one turn
  int64_t turns = 0;                    // kRepetitions: that the bad run has more; negative: less
  std::string field, expected, actual;  // kChanged
  std::vector<int32_t> ranks;           // that differ so, ascending
  // Of the first of these ranks; kNoIndex: none.
  size_t good_process = kNoIndex, good_call = kNoIndex;
  size_t bad_process = kNoIndex, bad_call = kNoIndex;
  int64_t bad_ns = 0;  // when the bad run shows it, on its axis
};

struct Spread {
  uint64_t calls = 0;
  int64_t median_ns = 0, p95_ns = 0, total_ns = 0;  // median and p95: within 5 %
};

// A call site on a communicator, over all ranks.
struct SlowerSite {
  std::string call, comm, line;
  std::string measure;  // "duration", "waiting" (for the last to come), "own time" (of the program before the call)
  Spread good, bad;
  int64_t excess_ns = 0;  // what the bad run's calls took more, all together
};

struct RunDiff {
  std::vector<StructuralDifference> structural;  // first the one that the bad run shows first
  std::vector<SlowerSite> slower;                // by excess_ns
  std::vector<int32_t> only_good, only_bad;      // ranks
  uint64_t ranks = 0, calls = 0;                 // compared; calls of the good run
  bool by_function = false;                      // call sites are functions, since the program was built anew
  std::vector<std::string> caveats;
};

struct RunDiffInput {
  const Run& good;
  const Run& bad;
  bool by_function = false;  // even if both are of one build
};

RunDiff CompareCalls(const RunDiffInput& input, StackViews* views);

}  // namespace ddbg::analyzer
