#include "collector/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <chrono>
#include <cstring>

namespace ddbg::collector {
namespace {

constexpr std::chrono::seconds kFirstFrameWithin{10};
constexpr std::chrono::milliseconds kRetryAccept{100};

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

void UnblockSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Three descriptors a process, and a node may run hundreds.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Server::Server(ListenSocket socket, const Options& options)
    : idle_seconds_(options.idle_seconds),
      log_(options.log_level, options.foreground),
      budgets_([this](std::string text) { asio::post(io_, [this, text] { log_->warn("{}", text); }); }),
      run_dirs_(log_, HostName(), budgets_),
      telemetry_(io_, run_dirs_),
      listen_socket_(std::move(socket)),
      listener_(io_, fcntl(listen_socket_.fd(), F_DUPFD_CLOEXEC, 0)),
      signals_(io_, SIGTERM, SIGINT),
      idle_timer_(io_),
      accept_timer_(io_) {
  if (options.foreground) signals_.add(SIGHUP);
}

void Server::Run() {
  RaiseDescriptorLimit();
  listen(listener_.native_handle(), SOMAXCONN);  // again, so that SO_PEERCRED names this process and not its starter
  log_->info("ddbg-collector " DDBG_VERSION " listens on {}", listen_socket_.path());
  signals_.async_wait([this](const asio::error_code& error, int number) {
    if (!error) OnSignal(number);
  });
  UnblockSignals();
  WaitForClients();
  WaitForIdle();
  io_.run();
}

// ---- Accepting --------------------------------------------------------------------------------------------------

void Server::WaitForClients() {
  listener_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    if (!error) AcceptAll();
  });
}

void Server::AcceptAll() {
  for (;;) {
    UniqueFd socket{accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (socket) {
      Welcome(std::move(socket));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      log_->error("cannot accept a process: {}; it waits", std::strerror(errno));
      accept_timer_.expires_after(kRetryAccept);
      accept_timer_.async_wait([this](const asio::error_code& error) {
        if (!error) AcceptAll();
      });
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return WaitForClients();
    }
  }
}

void Server::Welcome(UniqueFd socket) {
  std::optional<Peer> peer = Peer::Of(socket.get());
  if (!peer || peer->uid != geteuid()) {
    log_->warn("refused a connection of user {}", peer ? static_cast<int>(peer->uid) : -1);
    send(socket.get(), "0", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  auto connection = std::make_shared<Connection>(io_, std::move(socket), std::move(*peer), this);
  auto [entry, is_new] = strangers_.emplace(connection.get(), Stranger{connection, asio::steady_timer{io_}});
  entry->second.patience.expires_after(kFirstFrameWithin);
  entry->second.patience.async_wait([this, weak = std::weak_ptr(connection)](const asio::error_code& error) {
    auto silent = weak.lock();
    if (error || silent == nullptr || !strangers_.contains(silent.get())) return;
    silent->Close();
    OnClosed(*silent, "nothing for 10 s");
  });
  idle_timer_.cancel();
  connection->Start();
}

Result<void> Server::OnFrame(Connection& connection, std::string_view frame) {
  Result<void> admitted = Admit(connection, frame);
  if (!admitted) connection.Refuse();
  return admitted;
}

Result<void> Server::Admit(Connection& connection, std::string_view frame) {
  Result<Hello> hello = ReadHello(frame);
  if (!hello) return hello.error();
  Result<ClientRegion> region = ClientRegion::Map(connection.TakeReceivedFd());
  if (!region) return region.error();
  auto known = connection.shared_from_this();
  for (const std::shared_ptr<Session>& session : sessions_) {
    if (!session->IsOf(*hello)) continue;
    Result<void> adopted = session->Adopt(known, *region, frame);
    if (adopted) strangers_.erase(&connection);
    return adopted;
  }
  strangers_.erase(&connection);
  StartSession(known, std::move(*hello), frame, std::move(*region));
  return {};
}

void Server::StartSession(std::shared_ptr<Connection> connection, Hello hello, std::string_view hello_chunk,
                          ClientRegion region) {
  auto& session = sessions_.emplace_back();
  auto finished = [this, entry = std::prev(sessions_.end())] {
    asio::post(io_, [this, entry] {  // not now: it is the session itself that calls
      sessions_.erase(entry);
      WaitForIdle();
    });
  };
  session = std::make_shared<Session>(
      io_, Node{log_, run_dirs_, budgets_, telemetry_}, std::move(hello), std::string(hello_chunk), std::move(region),
      std::move(connection->peer()), [this](const Session& one) { return LookAtPeers(one); }, finished);
  session->Start(std::move(connection));
}

// Once one of a run has begun to end, the others are not looked at again: at the end of each job there may be many.
PeersSeen Server::LookAtPeers(const Session& session) const {
  PeersSeen seen;
  for (const std::shared_ptr<Session>& other : sessions_) {
    if (other.get() == &session || !other->IsOfRun(session)) continue;
    if (other->IsGoing()) return {};
    ++seen.all;
  }
  for (const std::shared_ptr<Session>& other : sessions_) {
    if (other.get() != &session && other->IsOfRun(session) && other->IsUnharmed()) ++seen.running;
  }
  return seen;
}

void Server::OnClosed(Connection& connection, const std::string& fault) {
  if (!fault.empty()) {
    std::string text = "a process (pid " + std::to_string(connection.peer().pid) + ") was refused: " + fault;
    log_->warn("{}", text);
    run_dirs_.NoteAll(NoteKind::kBadClient, text);
  }
  strangers_.erase(&connection);
  WaitForIdle();
}

// ---- Ending -----------------------------------------------------------------------------------------------------

void Server::WaitForIdle() {
  if (!sessions_.empty() || !strangers_.empty()) return;
  idle_timer_.expires_after(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(idle_seconds_)));
  idle_timer_.async_wait([this](const asio::error_code& error) {
    if (!error) OnIdle();
  });
}

void Server::OnIdle() {
  if (!sessions_.empty() || !strangers_.empty()) return;
  pollfd waiting{listener_.native_handle(), POLLIN, 0};
  if (poll(&waiting, 1, 0) == 1) return WaitForIdle();  // somebody has just come
  Stop("no process for a while");
}

void Server::OnSignal(int number) {
  std::string why = "told to end by signal " + std::to_string(number);
  for (const std::shared_ptr<Session>& session : sessions_) session->Stop();
  run_dirs_.NoteAll(NoteKind::kCollectorStopped, why);
  Stop(why);
}

void Server::Stop(const std::string& why) {
  log_->info("ends: {}", why);
  io_.stop();
}

}  // namespace ddbg::collector
