// What `ddbg` says to the shell. `ddbg run` passes the job's own code through instead.
#pragma once

namespace ddbg::analyzer {

enum ExitCode : int {
  kExitOk = 0,       // healthy, or printed what was asked for
  kExitFault = 1,    // diagnose found one
  kExitUsage = 2,    // the command line makes no sense
  kExitUnknown = 3,  // cannot tell, or nothing could be read
};

}  // namespace ddbg::analyzer
