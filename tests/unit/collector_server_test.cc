// The collector as a program: its socket, its lock, its options, its beginning and its end.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/collector_process.h"
#include "tests/unit/decoded_trace.h"
#include "tests/unit/fake_process.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg {
namespace {

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The process that serves a socket, as the kernel says.
pid_t ServerOf(const std::string& socket_path) {
  int fd = ConnectTo(socket_path);
  if (fd < 0) return -1;
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
  close(fd);
  return credentials.pid;
}

TEST(Collector, LeavesTheSocketToTheOneThatServesIt) {
  ScratchDir dir;
  CollectorProcess first(dir / "sock");
  ASSERT_TRUE(first.Listens());
  CollectorProcess second(dir / "sock");
  EXPECT_EQ(second.Wait(), 0);
  EXPECT_TRUE(first.Running());
  EXPECT_TRUE(first.Listens());
}

TEST(Collector, ReplacesWhatAKilledOneLeft) {
  ScratchDir dir;
  {
    CollectorProcess killed(dir / "sock");
    ASSERT_TRUE(killed.Listens());
    killed.Signal(SIGKILL);
    EXPECT_EQ(killed.Wait(), 128 + SIGKILL);
  }
  ASSERT_EQ(access((dir / "sock").c_str(), F_OK), 0);
  ASSERT_EQ(access((dir / "sock.lock").c_str(), F_OK), 0);
  CollectorProcess next(dir / "sock");
  EXPECT_TRUE(next.Listens());
}

TEST(Collector, MakesAPrivateDirectoryAndSocket) {
  ScratchDir dir;
  CollectorProcess collector(dir / "private/sock");
  ASSERT_TRUE(collector.Listens());
  struct stat made;
  ASSERT_EQ(stat((dir / "private").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777, 0700u);
  ASSERT_EQ(stat((dir / "private/sock").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777, 0600u);
}

TEST(Collector, DoesNotUseADirectoryThatOthersCanWrite) {
  ScratchDir dir;
  std::filesystem::create_directory(dir / "open");
  chmod((dir / "open").c_str(), 0777);
  std::filesystem::create_directory(dir / "target");
  std::filesystem::create_symlink(dir / "target", dir / "link");
  for (const char* socket : {"open/sock", "link/sock"}) {
    CollectorProcess collector(dir / socket);
    EXPECT_EQ(collector.Wait(), 2);
    std::string said = collector.Said();
    EXPECT_TRUE(Contains(said, "The socket's directory")) << said;
    EXPECT_TRUE(Contains(said, "DDBG_SOCKET")) << said;
  }
}

TEST(Collector, SaysThatAPathIsTooLong) {
  ScratchDir dir;
  CollectorProcess collector(dir / std::string(120, 'x'));
  EXPECT_EQ(collector.Wait(), 2);
  std::string said = collector.Said();
  EXPECT_TRUE(Contains(said, "longer than the 107 bytes")) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST(Collector, DoesNotReplaceAFileThatIsNoSocket) {
  ScratchDir dir;
  WriteBytes(dir / "sock", "precious");
  CollectorProcess collector(dir / "sock");
  EXPECT_EQ(collector.Wait(), 2);
  EXPECT_EQ(ReadBytes(dir / "sock"), "precious");
}

TEST(Collector, EndsWhenNobodyComes) {
  ScratchDir dir;
  CollectorProcess idle(dir / "idle",
                        {"ddbg-collector", "--foreground", "--socket", dir / "idle", "--idle-seconds", "0.2"}, true);
  EXPECT_EQ(idle.Wait(), 0);
  EXPECT_NE(access((dir / "idle").c_str(), F_OK), 0);  // the socket is gone, the lock file stays
  EXPECT_EQ(access((dir / "idle.lock").c_str(), F_OK), 0);
}

TEST(Collector, StaysWhileAProcessRunsAndEndsAfterIt) {
  ScratchDir dir;
  CollectorProcess collector(
      dir / "sock", {"ddbg-collector", "--foreground", "--socket", dir / "sock", "--idle-seconds", "0.3"}, true);
  ASSERT_TRUE(collector.Listens());
  FakeProcess process(dir / "sock", {dir / "runs"});
  ASSERT_EQ(process.Connect(), '1');
  int64_t start = MonotonicNs();
  process.Publish(0, kVitalLane, 5);
  ASSERT_TRUE(WaitUntil([&] { return MonotonicNs() - start > 700'000'000 || !collector.Running(); }));
  EXPECT_TRUE(collector.Running());
  process.Exit(0);
  process.Reap();
  EXPECT_EQ(collector.Wait(), 0);
}

TEST(Collector, DoesNotRemoveTheSocketOfASuccessor) {
  ScratchDir dir;
  CollectorProcess first(dir / "sock");
  ASSERT_TRUE(first.Listens());
  std::filesystem::remove(dir / "sock.lock");  // as a cleaner of /tmp may do
  CollectorProcess second(dir / "sock");
  ASSERT_TRUE(WaitUntil([&] { return ServerOf(dir / "sock") == second.pid(); }));
  first.Signal(SIGTERM);
  EXPECT_EQ(first.Wait(), 0);
  EXPECT_EQ(ServerOf(dir / "sock"), second.pid());
}

TEST(Collector, LeavesTheJobThatStartedIt) {
  ScratchDir dir;
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, 0), 0);  // inherited on purpose: a launcher waits for the end of such a pipe
  setenv("LD_PRELOAD", "", 1);
  CollectorProcess starter(dir / "sock", {"ddbg-collector", "--socket", dir / "sock", "--idle-seconds", "60"}, true);
  close(pipe_ends[1]);
  pid_t started = starter.pid();
  EXPECT_EQ(starter.Wait(), 0);
  unsetenv("LD_PRELOAD");
  EXPECT_GT(ServerOf(dir / "sock"), 0);  // it listened before the starter ended
  pid_t daemon = 0;
  ASSERT_TRUE(WaitUntil([&] { return (daemon = ServerOf(dir / "sock")) != started; }));

  pollfd reader{pipe_ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&reader, 1, 5000), 1);
  char byte;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);  // nobody holds the other end
  close(pipe_ends[0]);
  EXPECT_NE(getsid(daemon), getsid(0));
  EXPECT_NE(getpgid(daemon), getpgrp());
  EXPECT_NE(getsid(daemon), daemon);  // no session leader: can get no terminal
  std::string proc = "/proc/" + std::to_string(daemon);
  EXPECT_EQ(std::filesystem::read_symlink(proc + "/cwd"), "/");
  for (const char* standard : {"0", "1", "2"}) {
    EXPECT_EQ(std::filesystem::read_symlink(proc + "/fd/" + standard), "/dev/null");
  }
  kill(daemon, SIGTERM);
  EXPECT_TRUE(WaitUntil([&] { return ConnectTo(dir / "sock") < 0; }));
}

TEST(Collector, AnswersHelpVersionAndMistakes) {
  ScratchDir dir;
  auto run = [&](const std::string& word) {
    return CollectorProcess(dir / "s", {"ddbg-collector", word}, true).Wait();
  };
  EXPECT_EQ(run("--help"), 0);
  EXPECT_EQ(run("--version"), 0);
  EXPECT_EQ(run("--no-such-option"), 2);
  EXPECT_EQ(run("--idle-seconds=never"), 2);
}

}  // namespace
}  // namespace ddbg
