// A process's recording from its first frame to its end, with a real collector and a process that really dies.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/collector_process.h"
#include "tests/unit/decoded_trace.h"
#include "tests/unit/fake_process.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg {
namespace {

class CollectorSession : public ::testing::Test {
 protected:
  CollectorSession() : collector_(dir_ / "sock"), process_(dir_ / "sock", {dir_ / "runs"}) {
    EXPECT_TRUE(collector_.Listens());
  }

  std::string path() const { return dir_ / "runs/run/a0/rank-00000.ddbg"; }

  // The file once it has the process's end in it.
  DecodedTrace Finished() const {
    EXPECT_TRUE(WaitUntil([&] { return !DecodedTrace(path()).ends.empty(); }));
    return DecodedTrace(path());
  }

  ScratchDir dir_;
  CollectorProcess collector_;
  FakeProcess process_;
};

TEST_F(CollectorSession, KeepsEverythingOfAKilledProcess) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.Publish(0, kVitalLane, 300);
  process_.Publish(5, kBulkLane, 5000);
  process_.SendLane(0, kVitalLane, 200);
  process_.SendLane(5, kBulkLane, 3000);
  process_.Publish(7, kVitalLane, 20);
  process_.region().SetTid(7, 77);
  Record call = FakeRegion::Call(static_cast<uint64_t>(MonotonicNs()), 0, kFirstCall + 3);
  process_.region().Enter(7, call, {42});
  process_.Kill(SIGKILL);
  process_.Reap();

  DecodedTrace trace = Finished();

  EXPECT_TRUE(trace.parsed);
  EXPECT_TRUE(trace.damage.empty());
  EXPECT_TRUE(trace.HasEachOnce(process_.published()));
  EXPECT_TRUE(trace.SpansAreSeamless());
  ASSERT_EQ(trace.open_calls.size(), 1u);
  EXPECT_EQ(trace.open_calls[0].thread(), 7u);
  EXPECT_EQ(trace.open_calls[0].tid(), 77u);
  EXPECT_EQ(trace.open_calls[0].half(0).call(), kFirstCall + 3u);
  EXPECT_EQ(trace.open_calls[0].half(0).start_ns(), static_cast<int64_t>(call.start));
  ASSERT_EQ(trace.ends.size(), 1u);
  EXPECT_EQ(trace.ends[0].how(), proto::ProcessEnd::SIGNALED);
  EXPECT_EQ(trace.ends[0].code(), SIGKILL);
  EXPECT_GE(trace.clock_points, 1u);
}

TEST_F(CollectorSession, KeepsEverythingOfAProcessThatSentNothing) {
  ASSERT_EQ(process_.Connect(), '1');
  for (uint32_t slot = 0; slot < 10; ++slot) process_.Publish(slot, slot % 2, 1000);
  process_.Kill(SIGSEGV);
  process_.Reap();
  DecodedTrace trace = Finished();
  EXPECT_TRUE(trace.HasEachOnce(10'000));
  EXPECT_EQ(trace.ends[0].code(), SIGSEGV);
}

TEST_F(CollectorSession, KeepsEverythingAtWhateverInstantAProcessIsKilled) {
  std::mt19937 random(1);
  for (int round = 1; round <= 30; ++round) {
    FakeProcess process(dir_ / "sock", {dir_ / "runs", round});
    ASSERT_EQ(process.Connect(), '1');
    process.RunUntilKilled();
    uint64_t enough = random() % 20'000;
    ASSERT_TRUE(WaitUntil([&] { return process.region().head(0, kVitalLane) >= enough; }));
    process.Kill(SIGKILL);
    process.Reap();
    uint64_t made = process.region().head(0, kVitalLane);
    char name[64];
    std::snprintf(name, sizeof(name), "runs/run/a0/rank-%05d.ddbg", round);
    ASSERT_TRUE(WaitUntil([&] { return !DecodedTrace(dir_ / name).ends.empty(); }));
    DecodedTrace trace(dir_ / name);
    EXPECT_TRUE(trace.HasEachOnce(made)) << trace.counts.size() << " of " << made;
    EXPECT_TRUE(trace.SpansAreSeamless());
    // At most the call it was in, and that only if it has no record.
    for (const proto::OpenCall& open : trace.open_calls) EXPECT_GE(open.half(0).count(), made);
    EXPECT_LE(trace.open_calls.size(), 1u);
  }
}

TEST_F(CollectorSession, TellsWhoWentDownAloneFromThoseThatWereKilledTogether) {
  FakeProcess other(dir_ / "sock", {dir_ / "runs", 1});
  FakeProcess third(dir_ / "sock", {dir_ / "runs", 2});
  auto end_of = [&](int rank) {
    std::string file = dir_ / ("runs/run/a0/rank-0000" + std::to_string(rank) + ".ddbg");
    EXPECT_TRUE(WaitUntil([&] { return !DecodedTrace(file).ends.empty(); }));
    return DecodedTrace(file).ends.at(0);
  };
  for (FakeProcess* process : {&process_, &other, &third}) ASSERT_EQ(process->Connect(), '1');
  process_.Kill(SIGKILL);
  process_.Reap();
  proto::ProcessEnd alone = end_of(0);
  EXPECT_EQ(alone.peers(), 2u);
  EXPECT_EQ(alone.peers_running(), 2u);

  collector_.Signal(SIGSTOP);  // so that it sees none of them before all are killed
  other.Kill(SIGKILL);
  third.Kill(SIGKILL);
  other.Reap();
  third.Reap();
  collector_.Signal(SIGCONT);
  for (int rank : {1, 2}) EXPECT_EQ(end_of(rank).peers_running(), 0u);
}

TEST_F(CollectorSession, BeginsWithTheProcessAlone) {
  ASSERT_EQ(process_.Connect(), '1');
  pid_t pid = process_.pid();
  process_.Exit(0);
  process_.Reap();
  Finished();
  ReadTrace read = ReadFile(path());
  proto::Chunk first;
  ASSERT_TRUE(first.ParseFromString(read.chunks.at(0).bytes));
  ASSERT_EQ(first.packet_size(), 1);
  EXPECT_EQ(first.packet(0).process().pid(), pid);
  EXPECT_EQ(first.packet(0).process().run_id(), "run");
}

TEST_F(CollectorSession, WritesWhileTheProcessRunsAndAcknowledges) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.Publish(3, kVitalLane, 10);
  process_.SendLane(3, kVitalLane);
  ASSERT_TRUE(WaitUntil([&] { return process_.written(3, kVitalLane) == 10; }));
  DecodedTrace trace(path());
  EXPECT_TRUE(trace.HasEachOnce(10));
  EXPECT_TRUE(trace.ends.empty());
}

TEST_F(CollectorSession, StampsFramesWithTheirTimes) {
  ASSERT_EQ(process_.Connect(), '1');
  int64_t before = MonotonicNs();
  process_.Publish(3, kVitalLane, 10);
  process_.SendLane(3, kVitalLane);
  int64_t after = MonotonicNs();
  ASSERT_TRUE(WaitUntil([&] { return process_.written(3, kVitalLane) == 10; }));
  bool stamped = false;
  for (const ReadTrace::Chunk& chunk : ReadFile(path()).chunks) {
    stamped = stamped || (chunk.t_min >= before && chunk.t_max <= after + 5 && chunk.t_min < chunk.t_max);
  }
  EXPECT_TRUE(stamped);
}

TEST_F(CollectorSession, ReportsExitStatusFromThePidfd) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.Exit(7);
  process_.Reap();
  DecodedTrace trace = Finished();
  EXPECT_EQ(trace.ends[0].how(), proto::ProcessEnd::EXITED);
  EXPECT_EQ(trace.ends[0].code(), 7);
  EXPECT_TRUE(trace.ends[0].source() == "pidfd" || trace.ends[0].source() == "zombie") << trace.ends[0].source();
}

TEST_F(CollectorSession, ReportsHowAProcessEndedThatIsGoneWithoutTrace) {
  ASSERT_EQ(process_.Connect(), '1');
  collector_.Signal(SIGSTOP);
  process_.Exit(9);
  process_.Reap();
  collector_.Signal(SIGCONT);
  DecodedTrace trace = Finished();
  if (trace.ends[0].how() == proto::ProcessEnd::GONE) GTEST_SKIP() << "this kernel's pidfds keep no exit status";
  EXPECT_EQ(trace.ends[0].source(), "pidfd");
  EXPECT_EQ(trace.ends[0].how(), proto::ProcessEnd::EXITED);
  EXPECT_EQ(trace.ends[0].code(), 9);
}

TEST_F(CollectorSession, ReportsHowAProcessEndedThatNobodyWaitsFor) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.Kill(SIGBUS);
  process_.WaitWithoutReaping();
  DecodedTrace trace = Finished();
  EXPECT_EQ(trace.ends[0].how(), proto::ProcessEnd::SIGNALED);
  EXPECT_EQ(trace.ends[0].code(), SIGBUS);
  EXPECT_EQ(trace.ends[0].source(), "zombie");
}

TEST_F(CollectorSession, AddsLossesAndAbortToTheEnd) {
  ASSERT_EQ(process_.Connect(), '1');
  const Region& region = process_.region().region();
  region.slot(1)->lost[kLossRingFull] = 5;
  region.slot(9)->lost[kLossRingFull] = 6;
  region.slot(9)->lost[kLossStackTableFull] = 1;
  region.header()->abort_seen = 1;
  process_.Exit(0);
  process_.Reap();
  DecodedTrace trace = Finished();
  EXPECT_TRUE(trace.ends[0].abort_called());
  ASSERT_EQ(trace.ends[0].lost_size(), static_cast<int>(kLossCauses));
  EXPECT_EQ(trace.ends[0].lost(kLossRingFull), 11u);
  EXPECT_EQ(trace.ends[0].lost(kLossStackTableFull), 1u);
}

TEST_F(CollectorSession, DoesNotReportACallThatHadReturned) {
  ASSERT_EQ(process_.Connect(), '1');
  Record call = FakeRegion::Call(static_cast<uint64_t>(MonotonicNs()), 0, kFirstCall + 1);
  process_.region().Enter(2, call);
  call.duration = 1000;
  process_.region().Publish(2, kBulkLane, call);
  Record completion = FakeRegion::Call(call.start + 1, 0, kCallCompletion);
  process_.region().Publish(2, kBulkLane, completion);
  process_.Kill(SIGKILL);
  process_.Reap();
  DecodedTrace trace = Finished();
  EXPECT_TRUE(trace.open_calls.empty());
  EXPECT_EQ(trace.counts.size(), 2u);
}

TEST_F(CollectorSession, WritesACallThatStaysOpenWhileItIs) {
  ASSERT_EQ(process_.Connect(), '1');
  Record call = FakeRegion::Call(static_cast<uint64_t>(MonotonicNs()), 0, kFirstCall + 1);
  process_.region().Enter(2, call);
  ASSERT_TRUE(WaitUntil([&] { return !DecodedTrace(path()).open_calls.empty(); }));
  DecodedTrace trace(path());
  EXPECT_GE(trace.open_calls[0].seen_ns() - trace.open_calls[0].half(0).start_ns(), 1'000'000'000);
  EXPECT_TRUE(trace.ends.empty());
}

TEST_F(CollectorSession, TakesTheProcessesEndAndNotTheSockets) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.ForkHolder();  // keeps the socket open
  process_.Publish(0, kVitalLane, 10);
  process_.Kill(SIGKILL);
  process_.Reap();
  EXPECT_TRUE(Finished().HasEachOnce(10));
}

TEST_F(CollectorSession, ReadsTheMemoryOfAProcessThatClosedItsSocket) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.Publish(0, kVitalLane, 10);
  process_.SendLane(0, kVitalLane, 5);
  process_.CloseSocket();
  ASSERT_TRUE(WaitUntil([&] { return DecodedTrace(path()).HasNote(proto::Note::CLIENT_LOST); }));
  process_.Publish(0, kVitalLane, 3000);
  ASSERT_TRUE(WaitUntil([&] { return process_.written(0, kVitalLane) == 3010; }));
  process_.Publish(0, kVitalLane, 10);
  process_.Exit(0);
  process_.Reap();
  DecodedTrace trace = Finished();
  EXPECT_TRUE(trace.HasEachOnce(process_.published()));
  EXPECT_TRUE(trace.SpansAreSeamless());
}

TEST_F(CollectorSession, TakesAProcessBackThatConnectsAgain) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.Publish(0, kVitalLane, 100);
  process_.SendLane(0, kVitalLane, 50);
  process_.CloseSocket();
  ASSERT_EQ(process_.Connect(), '1');
  // It cannot know how much of what it had sent was taken.
  process_.region().lane(0, kVitalLane).sent = process_.written(0, kVitalLane);
  process_.SendLane(0, kVitalLane);
  process_.Publish(0, kVitalLane, 100);
  process_.SendLane(0, kVitalLane);
  process_.Exit(0);
  process_.Reap();
  DecodedTrace trace = Finished();
  EXPECT_TRUE(trace.HasEachOnce(200));
  EXPECT_TRUE(trace.SpansAreSeamless());
  EXPECT_TRUE(trace.HasNote(proto::Note::CLIENT_RESUMED));
  EXPECT_FALSE(trace.HasNote(proto::Note::BAD_CLIENT));
}

TEST_F(CollectorSession, LetsASecondConnectionReplaceTheFirst) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.Publish(0, kVitalLane, 10);
  process_.SendLane(0, kVitalLane);
  ASSERT_EQ(process_.Connect(), '1');  // the first one stays open
  process_.Publish(0, kVitalLane, 10);
  process_.SendLane(0, kVitalLane);
  process_.Kill(SIGKILL);
  process_.Reap();
  DecodedTrace trace = Finished();
  EXPECT_TRUE(trace.HasEachOnce(20));
  EXPECT_TRUE(trace.HasNote(proto::Note::CLIENT_RESUMED));
}

TEST_F(CollectorSession, KeepsUpWithAFullRing) {
  ASSERT_EQ(process_.Connect(), '1');
  for (int round = 0; round < 40; ++round) {
    process_.Publish(0, kBulkLane, static_cast<int>(kLaneCells[kBulkLane] / 2));
    process_.SendLane(0, kBulkLane);
    ASSERT_TRUE(WaitUntil([&] { return process_.region().head(0, kBulkLane) == process_.written(0, kBulkLane); }));
  }
  process_.Exit(0);
  process_.Reap();
  DecodedTrace trace = Finished();
  EXPECT_TRUE(trace.HasEachOnce(process_.published()));
  EXPECT_TRUE(trace.SpansAreSeamless());
}

TEST_F(CollectorSession, SurvivesARegionFullOfGarbage) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.Publish(0, kVitalLane, 10);
  process_.region().lane(1, kBulkLane).head = ~uint64_t{0};
  process_.region().PublishDefinition(2, kVitalLane, "x", ~uint64_t{0} - 100);
  const Region& region = process_.region().region();
  for (uint32_t word = 0; word < sizeof(InFlight) / 4; ++word) {
    reinterpret_cast<uint32_t*>(&region.slot(3)->in_flight)[word] = 0xffffffff;
  }
  process_.Kill(SIGKILL);
  process_.Reap();
  DecodedTrace trace = Finished();
  EXPECT_TRUE(trace.parsed);
  EXPECT_TRUE(trace.HasEachOnce(10));
  EXPECT_TRUE(trace.HasNote(proto::Note::OTHER));
  EXPECT_TRUE(collector_.Running());
}

TEST_F(CollectorSession, EmptiesEveryRegionWhenItIsToldToEnd) {
  ASSERT_EQ(process_.Connect(), '1');
  process_.Publish(0, kVitalLane, 100);
  process_.Publish(1, kBulkLane, 100);
  process_.SendLane(0, kVitalLane, 10);
  collector_.Signal(SIGTERM);
  EXPECT_EQ(collector_.Wait(), 0);
  DecodedTrace trace(path());
  EXPECT_TRUE(trace.HasEachOnce(200));
  EXPECT_TRUE(trace.HasNote(proto::Note::COLLECTOR_STOPPED));
  EXPECT_EQ(process_.written(1, kBulkLane), 100u);
}

}  // namespace
}  // namespace ddbg
