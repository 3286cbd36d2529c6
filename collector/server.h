// The collector of a node: accepts connections, checks who they are, and turns their first frames into sessions.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "collector/budget.h"
#include "collector/connection.h"
#include "collector/listen_socket.h"
#include "collector/log.h"
#include "collector/options.h"
#include "collector/run_dir.h"
#include "collector/session.h"

namespace ddbg::collector {

class Server final : public ConnectionOwner {
 public:
  Server(ListenSocket socket, const Options& options);

  // Serves until it is idle for Options::idle_seconds or told to end by SIGTERM or SIGINT. By then everything that
  // processes have recorded is in their files.
  void Run();

  // The owner of connections that have not said yet who they are.
  Result<void> OnFrame(Connection& connection, std::string_view frame) override;
  void OnClosed(Connection& connection, const std::string& fault) override;

 private:
  // A connection before its first frame, and the time it has for that.
  struct Stranger {
    std::shared_ptr<Connection> connection;
    asio::steady_timer patience;
  };

  void WaitForClients();
  void AcceptAll();
  void Welcome(UniqueFd socket);
  Result<void> Admit(Connection& connection, std::string_view first_frame);
  void StartSession(std::shared_ptr<Connection> connection, Hello hello, std::string_view hello_chunk,
                    ClientRegion region);
  PeersSeen LookAtPeers(const Session& session) const;
  void WaitForIdle();
  void OnIdle();
  void OnSignal(int number);
  void Stop(const std::string& why);

  asio::io_context io_;
  double idle_seconds_;
  Log log_;
  BudgetKeeper budgets_;
  RunDirs run_dirs_;
  NodeTelemetry telemetry_;
  ListenSocket listen_socket_;
  asio::posix::stream_descriptor listener_;  // a duplicate of listen_socket_'s
  asio::signal_set signals_;
  asio::steady_timer idle_timer_;
  asio::steady_timer accept_timer_;  // when there are no descriptors left
  std::map<Connection*, Stranger> strangers_;
  std::list<std::shared_ptr<Session>> sessions_;
};

}  // namespace ddbg::collector
