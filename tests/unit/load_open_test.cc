// What has not ended: calls that are open, and processes that still run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "analyzer/load/load.h"
#include "proto/clock_ticks.h"
#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg::analyzer {
namespace {

using test::Allreduce;
using test::BatchOf;
using test::OpenAllreduce;
using test::SomeProcess;
using test::TraceFile;

TEST(Load, LastOpenCallStaysOpen) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000, 900)}, 0));
  *file.Add()->mutable_open_call() = OpenAllreduce(1, 2000, 5000);
  *file.Add()->mutable_open_call() = OpenAllreduce(1, 2000, 9000);
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 2u);
  EXPECT_TRUE(process->calls[1].open());
  EXPECT_EQ(process->calls[1].seq, 1u);
  EXPECT_EQ(process->last_seen_ns, 9000);
}

TEST(Load, RecordEndsItsOpenCall) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  *file.Add()->mutable_open_call() = OpenAllreduce(0, 2000, 5000);
  file.Add(BatchOf({Allreduce(0, 2000, 4000)}, 0));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 1u);
  EXPECT_EQ(process->calls[0].duration_ns, 4000);
}

TEST(Load, RecordEndsItsOpenCallAlsoIfTheClockWasCalibratedBetween) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  *file.Add()->mutable_open_call() = OpenAllreduce(0, 2'000'000, 2'000'000'000);
  file.Add(BatchOf({Allreduce(0, 1'999'000, 3'000'000'000)}, 0));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 1u);
  EXPECT_FALSE(process->calls[0].open());
}

TEST(Load, CallBeforeDoesNotEndAnOpenCallThatBeganRightAfterIt) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000, 100)}, 0));
  *file.Add()->mutable_open_call() = OpenAllreduce(1, 1101, 1110);  // seen at the process's end, at once
  ASSERT_TRUE(file.Finish());
  EXPECT_EQ(LoadProcess(dir / "r.ddbg")->calls.size(), 2u);
}

TEST(Load, LaterCallOfTheThreadEndsAnOpenCallWhoseRecordWasLost) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  *file.Add()->mutable_open_call() = OpenAllreduce(0, 2000, 5000);
  file.Add(BatchOf({Allreduce(1, 7000)}, 0));
  *file.Add()->mutable_open_call() = OpenAllreduce(9, 2000, 5000, 1, 78);  // another thread's stays
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 2u);
  EXPECT_TRUE(process->calls[0].open());
  EXPECT_EQ(process->calls[0].seq, 9u);
}

TEST(Load, KeepsWhatAnOpenWaitIsWaitingFor) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000)}, 0));
  proto::OpenCall wait = OpenAllreduce(0, 3000, 5000);
  wait.mutable_half(0)->set_call(CallId(MpiCall::Waitall));
  wait.add_request(41);
  wait.add_request(42);
  wait.set_request_count(12);
  *file.Add()->mutable_open_call() = wait;
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->open_detail.count(1), 1u);
  EXPECT_EQ(process->open_detail[1].requests, (std::vector<uint64_t>{41, 42}));
  EXPECT_EQ(process->open_detail[1].request_count, 12u);
}

TEST(Load, KeepsBothHalvesOfAnOpenSendrecv) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  proto::OpenCall open_call = OpenAllreduce(0, 3000, 5000);
  open_call.mutable_half(0)->set_call(CallId(MpiCall::Sendrecv));
  proto::Call second = open_call.half(0);
  second.set_flags(kFlagSecondHalf);
  *open_call.add_half() = second;
  *file.Add()->mutable_open_call() = open_call;
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 2u);
  EXPECT_TRUE(process->calls[1].open());
  EXPECT_EQ(process->calls[1].flags, kFlagSecondHalf);
}

TEST(Load, OwnProcessWithoutEndIsLive) {
  ScratchDir dir;
  proto::Process identity = SomeProcess(0);
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  identity.set_host(host);
  std::ifstream boot_id("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(boot_id, text);
  identity.set_boot_id(text);
  identity.set_pid(getpid());
  identity.set_start_monotonic_ns(MonotonicNs());
  ASSERT_TRUE(TraceFile(dir / "r.ddbg", identity).Finish());
  EXPECT_TRUE(LoadRun({dir.path(), {dir / "r.ddbg"}}).live);

  // A pid that was given again: the process under it is younger than the trace.
  identity.set_start_monotonic_ns(1);
  ASSERT_TRUE(TraceFile(dir / "s.ddbg", identity).Finish());
  auto run = LoadRun({dir.path(), {dir / "s.ddbg"}});
  EXPECT_FALSE(run.live);
  EXPECT_EQ(run.processes.at(0).end.how, ProcessEnd::kGone);
}

TEST(Load, ProcessOfAnotherHostIsLiveWhileItsFileIsFresh) {
  ScratchDir dir;
  ASSERT_TRUE(TraceFile(dir / "r.ddbg", SomeProcess(0)).Finish());
  EXPECT_TRUE(LoadRun({dir.path(), {dir / "r.ddbg"}}).live);
  std::filesystem::last_write_time(dir / "r.ddbg",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_FALSE(LoadRun({dir.path(), {dir / "r.ddbg"}}).live);
}

}  // namespace
}  // namespace ddbg::analyzer
