// One accepted socket: bytes in, frames out (FORMAT.md, "Socket"). Never blocks. Knows nothing of what frames mean.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collector/process_watch.h"
#include "collector/unique_fd.h"
#include "proto/result.h"

namespace ddbg::collector {

class Connection;

// Gets the frames of a connection, in order, from the event loop. May close the connection or hand it to another owner
// from within.
class ConnectionOwner {
 public:
  // An error is the client's fault: the connection is closed and OnClosed called with it.
  virtual Result<void> OnFrame(Connection& connection, std::string_view frame) = 0;

  // The client closed the socket, or (`fault` is not empty) did not keep the rules. Not called after Close.
  virtual void OnClosed(Connection& connection, const std::string& fault) = 0;

 protected:
  ~ConnectionOwner() = default;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::io_context& io, UniqueFd socket, Peer peer, ConnectionOwner* owner);

  void SetOwner(ConnectionOwner* owner) { owner_ = owner; }
  void Start() { WaitForBytes(); }
  void Close();

  // Leaves what comes next in the socket, so that the client's ring fills and counts what it loses; and goes on.
  void Pause() { paused_ = true; }
  void Resume();

  // Reads what is there now, until the client's end, until there is no more, or until it is paused.
  void ReadAvailable();

  // The one byte a client waits for.
  void Accept() { Answer('1'); }
  void Refuse() { Answer('0'); }

  Peer& peer() { return peer_; }
  UniqueFd TakeReceivedFd() { return std::move(received_fd_); }  // the last one that came by SCM_RIGHTS

 private:
  enum class ReadResult { kBytes, kNothing, kEnd };

  void Answer(char answer);
  void WaitForBytes();
  void OnReadable();
  ReadResult ReadOnce();
  Result<void> TakeBytes(std::string_view bytes);
  Result<void> TakeFrames(std::string_view* bytes);
  void End(const std::string& fault);

  asio::posix::stream_descriptor socket_;
  Peer peer_;
  ConnectionOwner* owner_;  // null after Close
  UniqueFd received_fd_;
  std::string partial_;  // bytes of a frame that is not complete
  bool waiting_ = false;
  bool paused_ = false;
};

}  // namespace ddbg::collector
