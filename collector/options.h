// The command line of ddbg-collector.
#pragma once

#include <optional>
#include <string>

namespace ddbg::collector {

struct Options {
  std::string socket;  // absolute
  bool foreground = false;
  double idle_seconds = 10;
  std::string log_level = "info";
};

// What `main` ends with.
enum ExitCode : int {
  kExitOk = 0,       // ended when idle or told to, or another collector serves the socket already
  kExitFailure = 1,  // the machine did not let it
  kExitUsage = 2,    // wrong options, or a socket path or directory that cannot be used
};

// The options, or nothing and the exit code when --help, --version or a mistake has been answered on stdout or stderr.
std::optional<Options> ParseOptions(int argc, char** argv, int* exit_code);

}  // namespace ddbg::collector
