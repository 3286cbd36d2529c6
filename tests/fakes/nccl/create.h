// How communicators come to be. Each of these meets the other ranks, and waits for them as long as it takes.
#pragma once

#include <string>
#include <vector>

#include "tests/fakes/nccl/comm.h"

namespace nullnccl {

// A new id, different from all others.
UniqueId MakeUniqueId();
// The name of the communicator that these ids make, the same for the same ids in the same order.
std::string NameOf(const UniqueId* ids, int count);
bool IsUniqueId(const UniqueId& id);

// Joins the communicator named comm.id with its rank and number of ranks.
Result Join(ncclComm& comm);

// A meeting of all ranks of `parent` in the step that the calling thread drew; each tells two numbers.
using Told = std::vector<std::pair<int64_t, int64_t>>;
Result MeetOnHost(ncclComm& parent, uint64_t step, int64_t first, int64_t second, Told* told);

// Finds the members of `color`, and joins them as `comm`. Without a colour it only meets.
Result Split(ncclComm& parent, uint64_t step, int color, int key, ncclComm& comm);

}  // namespace nullnccl
