// Lateness that is no work of a rank's own: its threads were ready and stood in the run queue. Of ranks that share too
// few cores now this one and now that one is late by it, and none is to blame. Without telemetry nothing is known:
// none.
#pragma once

#include "analyzer/find/lateness.h"
#include "analyzer/load/telemetry.h"

namespace ddbg::analyzer {

// How much of a rank's own time (arrivals.h) it waited for a CPU, of a stretch of `time_ns` with `own_ns` of own time.
// The threads of most MPIs spin while they wait for others, and stand in the run queue for that, too, which holds up
// nobody.
double OwnWaitNs(const CpuShare& share, double own_ns, double time_ns);

// Did a culprit wait for a CPU, beyond what the others did, for most of what is lost to it?
bool IsMostlyCpuWait(const Context& context, const Rounds& rounds, const Straggle& straggle);

// Has the node of a process a CPU for each rank on it? Then who waits for one does so because of something else.
// Unknown: no.
bool HasCpuForEach(const Context& context, size_t process);

// Share of the time of all rounds that the ranks were ready and waited for a CPU, in the mean over them; 0 to 1. In
// which code they waited is not known: a rank that sleeps in its own and spins in its calls may have waited in its own
// only. nullopt if that was not sampled of one of them, or less than three times.
std::optional<double> CpuWaitShare(const Context& context, const Rounds& rounds);

}  // namespace ddbg::analyzer
