// The loops of a run as RoundTimes: for each communicator, its collectives by call site and by the one before, as one
// turn of a loop comes to them again and again; and the run's steps, as a place is not in each turn, and not all ranks
// need have collectives together.
#pragma once

#include <vector>

#include "analyzer/context/arrivals.h"
#include "analyzer/context/context.h"
#include "analyzer/find/straggler_pattern.h"

namespace ddbg::analyzer {

// One place in a loop: the own time between two call sites.
struct Rounds {
  size_t group = kNoIndex;                 // kNoIndex: of steps
  std::vector<size_t> processes;           // by rank of `times`
  std::vector<size_t> members;             // the same as members of the group
  std::vector<size_t> seqs;                // by round: the collective at its end; or the number of the step
  std::vector<std::vector<size_t>> calls;  // of steps: by rank, by round: the first call
  RoundTimes times;                        // total own time
  std::vector<double> local_share;         // by rank: of its own time, what was in calls that wait for no peer
  int64_t loop_ns = 0;                     // from the first to the last collective of the group
  bool covered = false;                    // of steps: there are places of all ranks, which tell of single turns

  // A place that few turns of the loop come to: a checkpoint, an evaluation.
  bool IsOfSteps() const { return group == kNoIndex; }
  // The call that shows round `k` of a rank: index into the process's calls.
  size_t CallOf(const Matching& matching, size_t rank, size_t k) const {
    return IsOfSteps() ? calls[rank][k] : matching.groups[group].members[members[rank]].calls[seqs[k]];
  }

  bool IsRare() const { return times.rounds() < kFewestRounds; }
};

// Of all groups of two members or more that were traced as a whole. Calls that some member did not make end a group's
// rounds. Large runs are read from their end: see the source for how much.
std::vector<Rounds> RoundsOf(Context& context, const Arrivals& arrivals);

}  // namespace ddbg::analyzer
