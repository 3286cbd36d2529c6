// ddbg-collector: one a node and user. See options.cc for what it takes and server.h for what it does.
#include <errno.h>

#include <cstdio>
#include <utility>

#include "collector/daemonize.h"
#include "collector/listen_socket.h"
#include "collector/options.h"
#include "collector/server.h"

int main(int argc, char** argv) {
  using namespace ddbg::collector;
  int exit_code = kExitOk;
  std::optional<Options> options = ParseOptions(argc, argv, &exit_code);
  if (!options) return exit_code;
  ShedInheritance(/*close_rest=*/!options->foreground);

  ddbg::Result<ListenSocket> socket = ListenSocket::Open(options->socket);
  if (!socket && socket.error().code == EADDRINUSE) return kExitOk;
  if (!socket) {
    std::fprintf(stderr, "ddbg-collector: %s\n", socket.error().text.c_str());
    return socket.error().code == EPERM ? kExitUsage : kExitFailure;
  }
  if (!options->foreground && !Daemonize()) {
    std::perror("ddbg-collector: cannot become a daemon");
    return kExitFailure;
  }
  Server server{std::move(*socket), *options};
  server.Run();
  return kExitOk;
}
