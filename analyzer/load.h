// Trace files to the model. Any input is safe: what is damaged is named in one sentence and the rest is used. One
// thread.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model.h"
#include "analyzer/run_dirs.h"
#include "proto/result.h"

namespace ddbg::analyzer {

// Never fails as a whole: files that give nothing are in Run::unreadable, damage within one is in Process::damage.
// A process without an end is kRunning only if it is (see liveness.h), else kGone; Run::live: some process is kRunning.
Run LoadRun(const RunFiles& files);

// The process of one rank-* or proc-* file, from all files it has. An error if there is no Process packet in it, since
// nothing in it could be told to be whose. The end of a process that has none in the file is left at kRunning.
Result<Process> LoadProcess(const std::string& path);

// ResolveRun and LoadRun for the names people gave. Of a process that has ended within the last second it awaits the
// end of its file. An error if no process at all could be read.
Result<Run> OpenRun(const std::vector<std::string>& names);

}  // namespace ddbg::analyzer
