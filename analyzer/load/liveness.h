// Does a traced process still run? Asked only of processes whose trace has no end.
#pragma once

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// Of a process of this boot of this host: there is such a pid, no zombie, that was there before the trace began.
// Of any other: its file was written to within the last 10 s.
bool StillRuns(const Process& process);

// Until when nothing written means that nothing happened: now, if its collector still follows it (it writes every ten
// seconds, CLOCK_MONOTONIC of the process's host); else 0.
int64_t FollowedUntil(const Process& process);

// CLOCK_MONOTONIC of the process's host now, if that is this boot of this host; else 0.
int64_t NowOf(const Process& process);

}  // namespace ddbg::analyzer
