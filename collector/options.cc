#include "collector/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "proto/socket_path.h"

namespace ddbg::collector {

std::optional<Options> ParseOptions(int argc, char** argv, int* exit_code) {
  Options options;
  CLI::App app{
      "Receives the traces of this node's processes and writes them to files. Started by libddbg.so or `ddbg run`;\n"
      "one a user and socket. If another one serves the socket, it ends at once with status 0.",
      "ddbg-collector"};
  app.set_version_flag("--version", "ddbg-collector " DDBG_VERSION);
  app.add_option("--socket", options.socket, "Unix socket to listen on (default: $DDBG_SOCKET or /tmp/ddbg-UID/…)");
  app.add_flag("--foreground", options.foreground, "Stay in the foreground and log to stderr too");
  app.add_option("--idle-seconds", options.idle_seconds, "End after this long without a process (default: 10)")
      ->check(CLI::Range(0.05, 1e9));
  app.add_option("--log-level", options.log_level, "Least serious lines to log")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& answer) {
    *exit_code = app.exit(answer) == 0 ? kExitOk : kExitUsage;
    return std::nullopt;
  }
  char path[4096];
  bool fits = true;
  if (options.socket.empty()) {
    fits = DefaultSocketPath(path, sizeof(path));
    options.socket = path;
  }
  std::error_code ignored;
  std::filesystem::path absolute = std::filesystem::absolute(options.socket, ignored);
  if (!absolute.empty()) options.socket = absolute.string();
  if (!fits || !SocketPathFits(options.socket.c_str())) {
    std::fprintf(stderr,
                 "ddbg-collector: the socket path %s is longer than the %zu bytes a socket path may have; "
                 "choose a shorter one with --socket or DDBG_SOCKET.\n",
                 options.socket.c_str(), kSocketPathBytes - 1);
    *exit_code = kExitUsage;
    return std::nullopt;
  }
  return options;
}

}  // namespace ddbg::collector
