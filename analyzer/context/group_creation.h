// Communicators that are made over a group (MPI_Comm_create_group): only its members call, so that no sequence number
// of the parent counts it.
#pragma once

#include <vector>

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

// World ranks of the group that a communicator is made over, ascending; empty: not known.
std::vector<int32_t> GroupOf(const Process& process, const Call& call);

// Processes of the group of this open call that have not made as many calls with the same group and tag.
std::vector<size_t> MembersNotCome(const Context& context, size_t process, size_t call);

}  // namespace ddbg::analyzer
