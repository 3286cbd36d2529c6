#include "proto/socket_path.h"

#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ddbg {

static_assert(sizeof(sockaddr_un::sun_path) == kSocketPathBytes);

bool SocketPathFits(const char* path) { return std::strlen(path) < kSocketPathBytes; }

bool DefaultSocketPath(char* out, size_t size) {
  const char* given = std::getenv("DDBG_SOCKET");
  int length = given != nullptr && *given != '\0'
                   ? std::snprintf(out, size, "%s", given)
                   : std::snprintf(out, size, "/tmp/ddbg-%u/collector.sock", static_cast<unsigned>(geteuid()));
  return length >= 0 && static_cast<size_t>(length) < size && static_cast<size_t>(length) < kSocketPathBytes;
}

}  // namespace ddbg
