// Members of communicators that no process alone knows.
#pragma once

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// Both sides of each inter-communicator in one list of members (Communicator::peer_base), and the members of
// communicators that reach beyond a world. What was there is in Process::told.
void JoinSides(Run* run);

}  // namespace ddbg::analyzer
