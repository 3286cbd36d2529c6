// Who this process is: what the launcher and the system say (DESIGN 5). Becomes the `Process` packet.
#pragma once

#include <string>

#include "proto/ring_layout.h"
#include "shim/recorder/launcher.h"
#include "shim/recorder/settings.h"

namespace ddbg::shim {

// The serialised `Process` packet inside a Chunk. Reads /proc; sender thread only.
std::string EncodeProcess(const Settings& settings, const LauncherWords& launcher, const RegionHeader& header,
                          const std::string& stacks);

// The environment the process was started with, NUL-separated as in /proc/self/environ.
std::string InitialEnvironment();

}  // namespace ddbg::shim
