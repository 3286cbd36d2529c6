// How one process uses one communicator, added up: what roles are inferred from.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>

#include "analyzer/model/model.h"
#include "analyzer/steps/steps.h"

namespace ddbg::analyzer {

struct CommUse {
  // Collectives but for those of a few elements (a loss, a norm), which tell nothing.
  size_t reductions = 0;  // allreduce, reduce_scatter
  size_t gathers = 0;     // allgather
  size_t exchanges = 0;   // all-to-all
  size_t broadcasts = 0;
  size_t small = 0;  // reductions and gathers of a few elements
  uint64_t bytes = 0;
  std::set<uint64_t> sizes;  // elements of reductions and gathers, the first few that differ
  // Of reductions, gathers and exchanges within steps:
  size_t in_steps = 0;
  size_t early = 0;         // in the first half of the step's calls
  std::set<int64_t> steps;  // that have any, the first few hundred
  // Messages
  size_t sends = 0, receives = 0, both = 0;  // both: MPI_Sendrecv
  std::set<int32_t> peers;                   // ranks in the communicator, the first few
  bool first_is_send = false;                // of a step, most often
  std::string library;  // a part of a known library that the calls come from: "tensor_parallel", …

  size_t collectives() const { return reductions + gathers + exchanges; }
  size_t messages() const { return sends + receives + both; }
};

// By communicator id.
std::unordered_map<uint32_t, CommUse> UseOfComms(const Process& process, const std::vector<Step>& steps);

}  // namespace ddbg::analyzer
