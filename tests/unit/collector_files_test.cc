// Where traces go: names, duplicates, going on with a file, disks that fail.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "tests/unit/collector_process.h"
#include "tests/unit/decoded_trace.h"
#include "tests/unit/fake_process.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg {
namespace {

bool Ended(const std::string& path) {
  return WaitUntil([&] { return !DecodedTrace(path).ends.empty(); });
}

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string OwnHost() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return host;
}

// A disk of 256 KiB, which takes root to have.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directory(path);
    mounted_ = mount("tmpfs", path.c_str(), "tmpfs", 0, "size=256k") == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }

  bool mounted() const { return mounted_; }
  void Fill() const { WriteBytes(path_ + "/filler", std::string(1 << 20, 'x')); }  // as much of it as fits
  void Empty() const { std::filesystem::remove(path_ + "/filler"); }

 private:
  std::string path_;
  bool mounted_;
};

class CollectorFiles : public ::testing::Test {
 protected:
  CollectorFiles() : collector_(std::make_unique<CollectorProcess>(dir_ / "sock")) {
    EXPECT_TRUE(collector_->Listens());
  }

  std::string sock() const { return dir_ / "sock"; }
  std::string runs() const { return dir_ / "runs"; }
  std::string File(const std::string& name) const { return runs() + "/run/a0/" + name; }

  ScratchDir dir_;
  std::unique_ptr<CollectorProcess> collector_;
};

TEST_F(CollectorFiles, GiveASecondProcessOfARankAFileOfItsOwn) {
  FakeProcess first(sock(), {runs(), 3}), second(sock(), {runs(), 3}), unknown(sock(), {runs(), -1});
  ASSERT_EQ(first.Connect(), '1');
  ASSERT_EQ(second.Connect(), '1');
  ASSERT_EQ(unknown.Connect(), '1');
  auto proc = [&](const FakeProcess& process) { return File("proc-host-" + std::to_string(process.pid()) + ".ddbg"); };
  EXPECT_EQ(DecodedTrace(File("rank-00003.ddbg")).processes.at(0).pid(), first.pid());
  EXPECT_EQ(DecodedTrace(proc(second)).processes.at(0).pid(), second.pid());
  EXPECT_EQ(DecodedTrace(proc(unknown)).processes.at(0).rank(), -1);
}

TEST_F(CollectorFiles, HaveASuffixWhereEvenTheProcessFileIsTaken) {
  FakeProcess process(sock(), {runs(), -1});
  std::filesystem::create_directories(File(""));
  std::string base = File("proc-host-" + std::to_string(process.pid()));
  WriteBytes(base + ".ddbg", "somebody's");
  ASSERT_EQ(process.Connect(), '1');
  EXPECT_EQ(DecodedTrace(base + "-2.ddbg").processes.size(), 1u);
  EXPECT_EQ(ReadBytes(base + ".ddbg"), "somebody's");
}

TEST_F(CollectorFiles, LieWhereTheFormatSays) {
  FakeProcess process(sock(), {runs(), 12, "my run", "host", 2});
  ASSERT_EQ(process.Connect(), '1');
  std::string directory = runs() + "/my run/a2";
  EXPECT_EQ(access((directory + "/rank-00012.ddbg").c_str(), F_OK), 0);
  EXPECT_EQ(access((directory + "/collector-" + OwnHost() + ".log").c_str(), F_OK), 0);
  EXPECT_EQ(std::filesystem::read_symlink(runs() + "/latest"), "my run");
  DecodedTrace node(directory + "/node-" + OwnHost() + ".ddbg");
  ASSERT_EQ(node.processes.size(), 1u);
  EXPECT_EQ(node.processes[0].run_id(), "my run");
  EXPECT_TRUE(node.HasNote(proto::Note::COLLECTOR_STARTED));
  EXPECT_TRUE(WaitUntil(
      [&] { return DecodedTrace(directory + "/node-" + OwnHost() + ".ddbg").HasNote(proto::Note::CLIENT_CONNECTED); }));
  struct stat made;
  ASSERT_EQ(stat(directory.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777, 0755u);

  FakeProcess next(sock(), {runs(), 0, "next"});
  ASSERT_EQ(next.Connect(), '1');
  EXPECT_EQ(std::filesystem::read_symlink(runs() + "/latest"), "next");
  EXPECT_TRUE(Contains(ReadBytes(directory + "/collector-" + OwnHost() + ".log"), "listens on"));
}

TEST_F(CollectorFiles, StayBelowTheirDirectoryWhateverTheRunIsCalled) {
  for (std::string id : {"../../escape", "..", ".", "", "a/b", "latest", "new\nline"}) {
    FakeProcess process(sock(), {runs(), 0, id, "../host"});
    EXPECT_EQ(process.Connect(), '1') << id;
  }
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    std::string name = entry.path().filename();
    EXPECT_TRUE(name == "runs" || name.starts_with("sock")) << name;
  }
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(runs())) found.push_back(entry.path().filename());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found,
            (std::vector<std::string>{"_", "_.", "_._.._escape", "_latest", "a_b", "latest", "new_line", "unnamed"}));
}

TEST_F(CollectorFiles, AreGoneOnWithWhenTheCollectorWasKilled) {
  FakeProcess process(sock(), {runs()});
  ASSERT_EQ(process.Connect(), '1');
  process.Publish(0, kVitalLane, 60);
  process.SendLane(0, kVitalLane);
  ASSERT_TRUE(WaitUntil([&] { return process.written(0, kVitalLane) == 60; }));
  process.Publish(0, kVitalLane, 40);
  process.SendLane(0, kVitalLane, 80);
  collector_->Signal(SIGKILL);
  EXPECT_EQ(collector_->Wait(), 128 + SIGKILL);
  process.CloseSocket();
  // It died between writing a frame and acknowledging it, and in the middle of the next.
  process.region().lane(0, kVitalLane).written = 0;
  std::string whole = ReadBytes(File("rank-00000.ddbg"));
  WriteBytes(File("rank-00000.ddbg"), whole + whole.substr(16, 40));

  collector_ = std::make_unique<CollectorProcess>(sock());
  ASSERT_TRUE(collector_->Listens());
  ASSERT_EQ(process.Connect(), '1');
  process.region().lane(0, kVitalLane).sent = process.written(0, kVitalLane);
  process.SendLane(0, kVitalLane);
  process.Publish(0, kVitalLane, 50);
  process.Exit(0);
  process.Reap();

  ASSERT_TRUE(Ended(File("rank-00000.ddbg")));
  DecodedTrace trace(File("rank-00000.ddbg"));
  EXPECT_TRUE(trace.damage.empty());
  EXPECT_TRUE(trace.HasEachOnce(150));
  EXPECT_TRUE(trace.SpansAreSeamless());
  EXPECT_TRUE(trace.HasNote(proto::Note::CLIENT_RESUMED));
  EXPECT_EQ(trace.ends.size(), 1u);
}

TEST_F(CollectorFiles, AreMadeOnceTheirDirectoryCanBe) {
  WriteBytes(runs(), "a file in the place of the directory");
  FakeProcess process(sock(), {runs()});
  ASSERT_EQ(process.Connect(), '1');
  EXPECT_NE(process.region().region().header()->write_error, 0);
  process.Publish(0, kVitalLane, 50);
  process.SendLane(0, kVitalLane);
  EXPECT_TRUE(WaitUntil([&] { return Contains(collector_->Said(), "Cannot make"); }));
  EXPECT_EQ(process.written(0, kVitalLane), 0u);
  std::filesystem::remove(runs());
  ASSERT_TRUE(WaitUntil([&] { return process.written(0, kVitalLane) == 50; }));
  EXPECT_EQ(process.region().region().header()->write_error, 0);
  process.Publish(0, kVitalLane, 50);
  process.Exit(3);
  process.Reap();
  ASSERT_TRUE(Ended(File("rank-00000.ddbg")));
  DecodedTrace trace(File("rank-00000.ddbg"));
  EXPECT_TRUE(trace.HasEachOnce(100));
  EXPECT_TRUE(trace.HasNote(proto::Note::DISK_RESUMED));
}

TEST_F(CollectorFiles, AreFinishedThoughTheDiskWasFullForAWhile) {
  SmallDisk disk(runs());
  if (!disk.mounted()) GTEST_SKIP() << "needs root to mount a small disk";
  FakeProcess process(sock(), {runs()});
  ASSERT_EQ(process.Connect(), '1');
  disk.Fill();
  process.Publish(0, kBulkLane, 16'000);
  process.SendLane(0, kBulkLane);
  EXPECT_TRUE(WaitUntil([&] { return Contains(collector_->Said(), "No space left"); }));
  EXPECT_LT(process.written(0, kBulkLane), 16'000u);
  EXPECT_EQ(process.region().region().header()->write_error, ENOSPC);
  process.Publish(1, kVitalLane, 100);
  process.Kill(SIGKILL);  // while nothing can be written
  process.Reap();
  disk.Empty();
  EXPECT_TRUE(Ended(File("rank-00000.ddbg")));
  DecodedTrace trace(File("rank-00000.ddbg"));
  EXPECT_TRUE(trace.damage.empty());
  EXPECT_TRUE(trace.HasEachOnce(16'100));
  EXPECT_TRUE(trace.HasNote(proto::Note::DISK_FULL));
  EXPECT_TRUE(trace.HasNote(proto::Note::DISK_RESUMED));
}

TEST_F(CollectorFiles, OfAFullDiskDoNotMakeTheCollectorGrow) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "under AddressSanitizer memory is not given back";
#endif
  SmallDisk disk(runs());
  if (!disk.mounted()) GTEST_SKIP() << "needs root to mount a small disk";
  FakeProcess process(sock(), {runs()});
  ASSERT_EQ(process.Connect(), '1');
  disk.Fill();
  process.Publish(0, kBulkLane, 16'000);
  // Modules packets take no space in the ring, so nothing but the collector's own limit holds them up.
  // A KiB of each does not compress, so that what the collector has at once is more than what is left of a file's last
  // page, which a full disk still takes.
  std::mt19937 random(1);
  auto frame = [&] {
    std::string path(1 << 20, 'p');
    std::generate_n(path.begin(), 1024, [&] { return static_cast<char>('0' + random() % 64); });
    proto::Chunk chunk;
    chunk.add_packet()->mutable_modules()->add_module()->set_path(path);
    return chunk.SerializeAsString();
  };
  pid_t sender = fork();
  if (sender == 0) {
    for (int i = 0; i < 64; ++i) process.SendFrame(frame());
    _exit(0);
  }
  auto rss_pages = [&] {
    std::ifstream statm("/proc/" + std::to_string(collector_->pid()) + "/statm");
    long size = 0, resident = 0;
    statm >> size >> resident;
    return resident;
  };
  EXPECT_TRUE(WaitUntil([&] { return rss_pages() * 4 > 8 << 10; }));  // it does take some
  EXPECT_FALSE(WaitUntil([&] { return waitpid(sender, nullptr, WNOHANG) == sender; }, 1));
  EXPECT_LT(rss_pages() * 4, 80 << 10);
  disk.Empty();
  EXPECT_TRUE(WaitUntil([&] { return waitpid(sender, nullptr, WNOHANG) == sender; }));
  process.SendLane(0, kBulkLane);
  EXPECT_TRUE(WaitUntil([&] { return process.written(0, kBulkLane) == 16'000; }));
}

}  // namespace
}  // namespace ddbg
