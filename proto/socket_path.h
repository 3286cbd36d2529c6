// Where the node's collector listens. The same answer in the shim, the collector and `ddbg run`.
#pragma once

#include <cstddef>

namespace ddbg {

// Bytes a socket path may have with its final NUL (sizeof sockaddr_un::sun_path).
inline constexpr size_t kSocketPathBytes = 108;

// Writes $DDBG_SOCKET if it is set and not empty, else /tmp/ddbg-<uid>/collector.sock. False if that is longer than a
// socket path can be or than `size` bytes with its NUL; `out` then holds as much of it as fits, for the message.
// Async-signal-safe but for getenv.
bool DefaultSocketPath(char* out, size_t size);

// True if `path` can be bound to.
bool SocketPathFits(const char* path);

}  // namespace ddbg
