// What is said of a wait for a window's lock (WaitKind::kLock): who holds it since which call, and what it does now.
#pragma once

#include <string>

#include "analyzer/context/waits.h"

namespace ddbg::analyzer {

// "rank 0 holds the exclusive lock of MPI_Win_lock(rank 2) on halo at push() at x.c:12 and is in MPI_Barrier …; rank 1
// waits for that lock in MPI_Win_lock(rank 2) on halo at pull() at x.c:20". `waiter`: a process.
std::string HeldLockText(Context& context, size_t waiter, const WaitEdge& edge);

// The call that took it is the event: it was to be given back before what its rank does now.
BadEvent HeldLockEvent(Context& context, const WaitEdge& edge);

}  // namespace ddbg::analyzer
