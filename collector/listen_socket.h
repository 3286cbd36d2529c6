// The socket of the node's collector, held by one process at a time.
//
//     <path>        the socket, mode 0600
//     <path>.lock   flock'ed by the collector that serves it; never removed, so that no two can hold "the" lock
//
// Whatever lies at <path> while the lock is free was left by a collector that is gone, and is replaced.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "proto/result.h"

namespace ddbg::collector {

class ListenSocket {
 public:
  // Makes the socket's directory (mode 0700) if there is none. Error codes: EADDRINUSE if another collector holds the
  // lock, EPERM if the directory is not safe to use, else as the system gave it.
  static Result<ListenSocket> Open(const std::string& path);

  ListenSocket(ListenSocket&& other) noexcept { *this = std::move(other); }
  ListenSocket& operator=(ListenSocket&& other) noexcept;
  ~ListenSocket();  // removes the socket if it is still ours, then lets the lock go

  int fd() const { return fd_; }  // non-blocking
  const std::string& path() const { return path_; }

 private:
  ListenSocket() = default;

  Result<void> Lock();
  Result<void> Bind();

  std::string path_;
  int lock_fd_ = -1;
  int fd_ = -1;
  dev_t device_ = 0;  // of the socket file we made
  ino_t inode_ = 0;
};

}  // namespace ddbg::collector
