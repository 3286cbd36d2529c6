// How far an attempt of a job got: what an attempt that came later is compared by. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct Reached {
  std::optional<int64_t> step;         // the highest that any rank began
  std::optional<int64_t> step_of_all;  // and the highest that every rank of those that have steps began
  std::string step_source;             // "marks", "inferred"; "" without steps
  // The last collective that all members made, of the communicator with most members; "" without any.
  std::string call, comm;
  int64_t seq = -1;
  std::optional<int64_t> checkpoint_step;  // in which a phase "checkpoint" ended last; only with steps
};

Reached ReachedBy(const Run& run);

// "step 12 (all ranks: 11), MPI_Allreduce #40 of MPI_COMM_WORLD"; "" of nothing.
std::string ReachedText(const Reached& reached);

}  // namespace ddbg::analyzer
