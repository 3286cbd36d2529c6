// A client from its connection to its end: the first frame, the session it begins, and what follows on the socket.
// Whatever it sends, the trace file is whole, begins with the first frame, and lies below the run's directory.
//
//     input = published u8, the stream as it comes from the socket
#include <fcntl.h>
#include <sys/socket.h>

#include <filesystem>
#include <memory>
#include <string>

#include "collector/connection.h"
#include "collector/node/node_telemetry.h"
#include "collector/run_dir.h"
#include "collector/session.h"
#include "proto/trace_reader.h"
#include "tests/fuzz/input.h"
#include "tests/unit/fake_region.h"
#include "tests/unit/scratch_dir.h"

using namespace ddbg;
using namespace ddbg::fuzz;

namespace {

// Does with a first frame what the Server does, but writes where this program says.
class Door final : public collector::ConnectionOwner {
 public:
  Door(asio::io_context& io, collector::Node node, const FakeRegion& fake, std::string dir)
      : io_(io), node_(node), fake_(fake), dir_(std::move(dir)) {}

  Result<void> OnFrame(collector::Connection& connection, std::string_view frame) override {
    Result<collector::Hello> hello = collector::ReadHello(frame);
    if (!hello) return hello.error();
    Require(hello->trace_dir[0] == '/');
    hello->trace_dir = dir_;
    Result<collector::ClientRegion> region =
        collector::ClientRegion::Map(collector::UniqueFd{fcntl(fake_.fd(), F_DUPFD_CLOEXEC, 0)});
    Require(region.ok());
    hello_chunk_ = frame;
    session_ = std::make_shared<collector::Session>(
        io_, node_, *hello, std::string(frame), std::move(*region), std::move(connection.peer()),
        [](const collector::Session&) { return collector::PeersSeen{}; }, [] {});
    session_->Start(connection.shared_from_this());
    return {};
  }
  void OnClosed(collector::Connection&, const std::string&) override {}

  collector::Session* session() const { return session_.get(); }
  const std::string& hello_chunk() const { return hello_chunk_; }

 private:
  asio::io_context& io_;
  collector::Node node_;
  const FakeRegion& fake_;
  std::string dir_;
  std::string hello_chunk_;
  std::shared_ptr<collector::Session> session_;
};

void CheckFiles(const std::string& dir, const std::string& hello_chunk) {
  int traces = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    std::string name = entry.path().filename();
    for (char letter : name) Require(static_cast<unsigned char>(letter) >= 0x20);
    if (!entry.is_regular_file() || !name.ends_with(".ddbg")) continue;
    Result<TraceReader> reader = TraceReader::Open(entry.path());
    Require(reader.ok());
    TraceChunk chunk;
    Require(reader->Next(&chunk));
    if (!name.starts_with("node-")) {
      Require(chunk.bytes == hello_chunk);
      ++traces;
    }
    while (reader->Next(&chunk)) {
    }
    Require(reader->Damage().empty());
  }
  Require(traces == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  Input input(bytes, std::min<size_t>(size, 64 << 10));  // more would not fit into the socket
  FakeRegion fake;
  for (int cells = input.Byte(); cells > 0; --cells) fake.Publish(0, kVitalLane, FakeRegion::Call(1));
  std::string_view stream = input.Rest();

  ScratchDir scratch;
  collector::Log log("off", false);
  asio::io_context io;
  collector::BudgetKeeper budgets([](const std::string&) {});
  collector::RunDirs run_dirs(log, "host", budgets);
  collector::NodeTelemetry telemetry(io, run_dirs);
  int ends[2];
  Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  Door door(io, collector::Node{log, run_dirs, budgets, telemetry}, fake, scratch / "runs");
  std::optional<collector::Peer> peer = collector::Peer::Of(ends[0]);
  Require(peer.has_value());
  auto connection = std::make_shared<collector::Connection>(io, collector::UniqueFd{ends[0]}, std::move(*peer), &door);
  Require(stream.empty() || send(ends[1], stream.data(), stream.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
                                static_cast<ssize_t>(stream.size()));
  close(ends[1]);
  connection->ReadAvailable();
  io.poll();
  if (door.session() == nullptr) return 0;
  door.session()->Stop();
  CheckFiles(scratch / "runs", door.hello_chunk());
  return 0;
}
