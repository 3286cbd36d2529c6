// Worlds that MPI_Comm_spawn has made, and inter-communicators, brought to one: a process knows the ranks of its own
// world only, and of a communicator with another world its own side.
#pragma once

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// Counts the ranks of spawned worlds after those of the worlds before them, each world's size included whether or not it
// was traced; makes one communicator of what both sides of a spawn have, and of all that was made from it; and completes
// the members of communicators that only several processes together know. What was there is in Process::told.
void JoinWorlds(Run* run);

// As it was loaded, for who goes on loading.
void PartWorlds(Run* run);

}  // namespace ddbg::analyzer
