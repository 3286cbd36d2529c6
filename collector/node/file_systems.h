// How full the file systems are that fail a job when they are: those in memory, where a write beyond the end of what is
// free ends a process by SIGBUS, and the trace directory's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collector/node/proc_text.h"

namespace ddbg::collector {

// The mount points of tmpfs in /proc/PID/mountinfo, the first few.
std::vector<std::string> ParseTmpfsMounts(std::string_view text);

// Total and available space; empty if the system does not say. May wait on a file system that hangs: the collector asks
// only for those it writes to itself, and those in memory, which do not.
std::vector<MetricValue> ReadFileSystem(const std::string& path);

}  // namespace ddbg::collector
