// Sentences about calls and lists of ranks, as people in the field write them. Names of the parts are call_fields.h's.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// "rank 3 (pid 12)"; "pid 12" of a process that is no rank.
std::string RankAndPid(const Process& process);
// With a capital letter first.
std::string Capitalized(std::string text);

// "MPI_Bcast(1142 × MPI_INT, root 0) on MPI_COMM_WORLD #0".
std::string DescribeCall(const Process& process, const Call& call);
// "rank 3", "ranks 0, 2", "ranks 1 to 7".
std::string RankList(const std::vector<int32_t>& ranks);

}  // namespace ddbg::analyzer
