// Starting ddbg-collector from inside a job, so that neither the program nor its launcher notices.
#pragma once

#include <string>

namespace ddbg::shim {

// Path of ddbg-collector: the given one, else beside libddbg.so, else ../bin. "" if there is none.
std::string FindCollector(const char* given);

// Starts it detached: no SIGCHLD for the program, no child its wait() could see, no inherited descriptor, pipe,
// process group or LD_PRELOAD. Returns false if it could not be started at all; whether it then listens is found out
// by connecting. Sender thread only; waits for the fork, not for the collector.
bool StartCollector(const std::string& path, const std::string& socket);

}  // namespace ddbg::shim
