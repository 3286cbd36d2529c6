// The connection to the node's collector: connect, start one if none runs, hand over the region, send frames.
// Sender thread only. Never blocks longer than the poll it is given.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <string>

#include "shim/recorder/own_file.h"

namespace ddbg::shim {

class Link {
 public:
  enum class State { kDown, kUp };

  // `leads_node`: starts a collector at once; the other ranks of a node give it half a second to.
  Link(std::string socket, std::string collector, bool leads_node)
      : socket_(std::move(socket)), collector_(std::move(collector)), leads_node_(leads_node) {}

  State state() const { return up_ ? State::kUp : State::kDown; }

  // One attempt. `hello` is the Chunk with the Process packet, `memfd` the region; `first` makes the frame that follows
  // at once, so that it is there even if this process is killed before it is answered. A collector is started when none
  // listens, at most once a second. True once the collector has accepted.
  bool Connect(const std::string& hello, int memfd, std::string (*first)());

  // No collector can be reached or started: there is none, it cannot be run, the path is too long, or it refused.
  bool hopeless() const { return hopeless_; }

  // Sends a frame. Waits while the collector does not read, since the ring is the buffer; gives up when it is gone.
  bool Send(const std::string& chunk);

 private:
  bool Open();
  bool Handshake(const std::string& hello, int memfd, std::string (*first)());
  bool SendFrame(const std::string& chunk);
  bool SendParts(iovec* parts, size_t count);
  void Close();
  void StartCollectorIfDue();

  std::string socket_;
  std::string collector_;
  OwnFile socket_file_;
  bool up_ = false;
  bool leads_node_;
  int64_t first_try_ns_ = 0;
  int64_t started_ns_ = 0;  // when a collector was last started
  int attempts_ = 0;
  bool hopeless_ = false;
};

}  // namespace ddbg::shim
