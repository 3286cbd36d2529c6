// Watches one process to its end by a pidfd, and says how it ended although it is nobody's child here.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <optional>

#include "collector/packets.h"
#include "collector/unique_fd.h"

namespace ddbg::collector {

// The process at the other end of a Unix socket.
struct Peer {
  pid_t pid = 0;  // as this process sees it; 0: in a PID namespace that cannot be seen from here
  uid_t uid = 0;
  UniqueFd pidfd;  // may be missing: the kernel is old, or the process was gone already

  static std::optional<Peer> Of(int socket);
};

// Turns the status word of wait(2) into words.
ProcessEnding EndingFromStatus(int status, const char* source);

class ProcessWatch {
 public:
  ProcessWatch(asio::io_context& io, Peer peer);

  // Calls back once, from the event loop, when the process has ended. Never if there is no pidfd.
  void OnEnd(std::function<void()> ended);

  pid_t pid() const { return pid_; }

  // Unknown (no pidfd): false, and the caller has to take the end of the socket for the end of the process.
  bool IsRunning() const;

  // Has not ended, is not ending, and no signal that will end it is on its way. False if it cannot be looked at.
  bool IsUnharmed() const;

  // How the ended process ended, as far as the system says now: nothing while neither its status is to be had from the
  // pidfd (until its parent has waited for it) nor it can be seen as a zombie. See session.cc for what comes after.
  std::optional<ProcessEnding> Ending() const;

 private:
  std::optional<int> StatusFromPidfd() const;
  std::optional<int> StatusOfZombie() const;

  pid_t pid_;
  uint64_t start_time_ = 0;  // field 22 of /proc/PID/stat: a later process of this pid has another
  asio::posix::stream_descriptor pidfd_;
};

}  // namespace ddbg::collector
