// Clients that do not keep the rules lose their own session and nothing else.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include "tests/unit/collector_process.h"
#include "tests/unit/decoded_trace.h"
#include "tests/unit/fake_process.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg {
namespace {

class CollectorClients : public ::testing::Test {
 protected:
  CollectorClients() : collector_(dir_ / "sock"), good_(dir_ / "sock", {dir_ / "runs"}) {
    EXPECT_TRUE(collector_.Listens());
    EXPECT_EQ(good_.Connect(), '1');
  }

  // The good client goes on undisturbed: the test is that what went on beside it did not matter.
  ~CollectorClients() override {
    good_.Publish(0, kVitalLane, 10);
    good_.SendLane(0, kVitalLane);
    EXPECT_TRUE(WaitUntil([&] { return good_.written(0, kVitalLane) == 10; }));
    EXPECT_TRUE(DecodedTrace(dir_ / "runs/run/a0/rank-00000.ddbg").HasEachOnce(10));
    EXPECT_TRUE(collector_.Running());
  }

  size_t BadClients() const {
    char host[256] = {};
    gethostname(host, sizeof(host) - 1);
    size_t found = 0;
    for (const proto::Note& note : DecodedTrace(dir_ / ("runs/run/a0/node-" + std::string(host) + ".ddbg")).notes) {
      found += note.kind() == proto::Note::BAD_CLIENT ? 1 : 0;
    }
    return found;
  }

  FakeProcess::Identity Bad() const { return {dir_ / "runs", 1}; }

  ScratchDir dir_;
  CollectorProcess collector_;
  FakeProcess good_;
};

std::string HelloFor(const std::string& trace_dir) {
  proto::Chunk chunk;
  chunk.add_packet()->mutable_process()->set_trace_dir(trace_dir);
  return chunk.SerializeAsString();
}

TEST_F(CollectorClients, AreRefusedWithoutARegionThatIsSafeToMap) {
  int file = open((dir_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(kRegionBytes)), 0);
  FakeRegion unsealed(0), small(F_SEAL_SHRINK, 4096), wrong_magic, wrong_version, wrong_size, wrong_positions;
  wrong_magic.region().header()->magic ^= 1;
  wrong_version.region().header()->version += 1;
  wrong_size.region().header()->region_bytes -= 4096;
  wrong_positions.lane(5, kBulkLane).written = 7;
  std::string hello = HelloFor(dir_ / "runs");
  for (int fd : {-1, file, unsealed.fd(), small.fd(), wrong_magic.fd(), wrong_version.fd(), wrong_size.fd(),
                 wrong_positions.fd()}) {
    FakeProcess bad(dir_ / "sock", Bad());
    EXPECT_EQ(bad.ConnectWith(hello, fd), '0') << fd;
    EXPECT_TRUE(WaitUntil([&] { return bad.ConnectionClosed(); }));
  }
  EXPECT_TRUE(WaitUntil([&] { return BadClients() == 8; }));
  EXPECT_NE(access((dir_ / "runs/run/a0/rank-00001.ddbg").c_str(), F_OK), 0);
  close(file);
}

TEST_F(CollectorClients, AreRefusedWithAFirstFrameThatIsNoProcess) {
  FakeRegion region;
  for (const std::string& hello : {std::string("garbage"), std::string(1, '\0'), HelloFor("relative")}) {
    FakeProcess bad(dir_ / "sock", Bad());
    EXPECT_EQ(bad.ConnectWith(hello, region.fd()), '0');
  }
  EXPECT_TRUE(WaitUntil([&] { return BadClients() == 3; }));
}

TEST_F(CollectorClients, LoseTheirSessionByWhatTheySendLater) {
  auto number = [](uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof(value)); };
  std::vector<std::function<void(FakeProcess&)>> crimes = {
      [&](FakeProcess& bad) { bad.SendRaw(number(0)); },
      [&](FakeProcess& bad) { bad.SendRaw(number((4u << 20) + 1)); },
      [&](FakeProcess& bad) { bad.SendRaw(number(~0u) + "more"); },
      [&](FakeProcess& bad) { bad.SendFrame("no protobuf at all"); },
      [&](FakeProcess& bad) {  // a gap
        bad.region().lane(0, kBulkLane).sent = 10;
        bad.Publish(0, kBulkLane, 20);
        bad.SendLane(0, kBulkLane);
      },
      [&](FakeProcess& bad) {  // positions from nowhere
        proto::Chunk chunk;
        chunk.add_packet()->mutable_batch()->set_end_position(uint64_t{1} << 60);
        bad.SendChunk(chunk);
      },
  };
  size_t known = 0;
  for (const auto& commit : crimes) {
    FakeProcess bad(dir_ / "sock", Bad());
    ASSERT_EQ(bad.Connect(), '1');
    bad.Publish(0, kVitalLane, 5);
    bad.SendLane(0, kVitalLane);
    commit(bad);
    EXPECT_TRUE(WaitUntil([&] { return bad.ConnectionClosed(); })) << known;
    ++known;
    EXPECT_TRUE(WaitUntil([&] { return BadClients() == known; })) << known;
    EXPECT_TRUE(WaitUntil([&] { return bad.written(0, kVitalLane) == 5; }));  // what was right is kept
  }
}

TEST_F(CollectorClients, MayGoAwayInTheMiddleOfAFrame) {
  FakeProcess leaving(dir_ / "sock", Bad());
  ASSERT_EQ(leaving.Connect(), '1');
  leaving.Publish(0, kVitalLane, 100);
  std::string chunk;
  EncodeLane(leaving.region().region(), 0, kVitalLane, 0, 100, {}, &chunk);
  uint32_t length = static_cast<uint32_t>(chunk.size());
  leaving.SendRaw(std::string(reinterpret_cast<const char*>(&length), 4) + chunk.substr(0, chunk.size() / 2));
  leaving.Kill(SIGKILL);
  leaving.Reap();
  std::string path = dir_ / "runs/run/a0/rank-00001.ddbg";
  ASSERT_TRUE(WaitUntil([&] { return !DecodedTrace(path).ends.empty(); }));
  EXPECT_TRUE(DecodedTrace(path).HasEachOnce(100));
  EXPECT_EQ(BadClients(), 0u);
}

TEST_F(CollectorClients, MayComeInByteByByte) {
  FakeProcess slow(dir_ / "sock", Bad());
  ASSERT_EQ(slow.Connect(), '1');
  slow.Publish(0, kVitalLane, 10);
  std::string chunk;
  EncodeLane(slow.region().region(), 0, kVitalLane, 0, 10, {}, &chunk);
  uint32_t length = static_cast<uint32_t>(chunk.size());
  for (char byte : std::string(reinterpret_cast<const char*>(&length), 4) + chunk) slow.SendRaw(std::string(1, byte));
  EXPECT_TRUE(WaitUntil([&] { return slow.written(0, kVitalLane) == 10; }));
}

TEST_F(CollectorClients, CannotTakeOverAnothersSession) {
  FakeProcess other(dir_ / "sock", Bad());
  proto::Chunk chunk;
  DecodedTrace good(dir_ / "runs/run/a0/rank-00000.ddbg");
  *chunk.add_packet()->mutable_process() = good.processes.at(0);
  EXPECT_EQ(other.ConnectWith(chunk.SerializeAsString(), other.region().fd()), '0');
}

TEST_F(CollectorClients, MayComeInCrowds) {
  std::vector<int> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(ConnectTo(dir_ / "sock"));
  FakeProcess after(dir_ / "sock", Bad());
  EXPECT_EQ(after.Connect(), '1');
  for (int fd : silent) close(fd);
}

}  // namespace
}  // namespace ddbg
