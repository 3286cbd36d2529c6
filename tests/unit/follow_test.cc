// Runs that are read while they are written, and when what is seen of them may be told.
#include "analyzer/load/follow.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "analyzer/verdict/follow_judge.h"
#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg::analyzer {
namespace {

using test::BatchOf;
using test::SomeProcess;
using test::SomeRecord;
using test::TraceFile;

Record AllReduce(uint32_t seq, uint64_t count) {
  Record record = SomeRecord(MpiCall::Allreduce, 2'000'000'000 + int64_t{seq} * 1'000'000, 1000);
  record.comm = 7;
  record.seq = seq;
  record.count = count;
  return record;
}

class Follow : public testing::Test {
 protected:
  Follow() {
    for (int rank : {0, 1}) {
      files_.push_back(
          std::make_unique<TraceFile>(dir_ / ("rank-0000" + std::to_string(rank) + ".ddbg"), SomeProcess(rank)));
      files_[rank]->Add({test::WorldCommunicator(7, rank, 2)}, {0}).Cut();
    }
  }

  void Write(int rank, uint32_t seq, uint64_t count = 8) {
    files_[rank]->Add(BatchOf({AllReduce(seq, count)}, seq)).Cut();
  }

  size_t Calls(RunFollower* follower) {
    analyzer::Run run = follower->Take();
    size_t calls = 0;
    for (const Process& process : run.processes) calls += process.calls.size();
    follower->GiveBack(std::move(run));
    return calls;
  }

  ScratchDir dir_;
  std::vector<std::unique_ptr<TraceFile>> files_;
};

TEST_F(Follow, ReadsWhatIsNewAndKeepsWhatWasRead) {
  RunFollower follower({dir_.path()}, {});
  ASSERT_TRUE(follower.Poll());
  EXPECT_EQ(Calls(&follower), 0u);
  for (uint32_t seq = 0; seq < 5; ++seq) {
    for (int rank : {0, 1}) Write(rank, seq);
    ASSERT_TRUE(follower.Poll());
    EXPECT_EQ(Calls(&follower), 2 * (seq + 1));
  }
  ASSERT_TRUE(follower.Poll());
  EXPECT_EQ(Calls(&follower), 10u);
  EXPECT_FALSE(follower.TakeAlarm());
}

TEST_F(Follow, OpenCallIsThereUntilItReturns) {
  RunFollower follower({dir_.path()}, {});
  proto::OpenCall open;
  open.set_tid(77);
  open.add_half()->set_call(CallId(MpiCall::Allreduce));
  open.mutable_half(0)->set_start_ns(2'000'000'000);
  open.set_seen_ns(3'500'000'000);
  *files_[0]->Add()->mutable_open_call() = open;
  files_[0]->Cut();
  ASSERT_TRUE(follower.Poll());
  for (int again = 0; again < 2; ++again) EXPECT_EQ(Calls(&follower), 1u);
  EXPECT_GT(follower.LongestOpenNs(), 0);
  Write(0, 0);
  ASSERT_TRUE(follower.Poll());
  EXPECT_EQ(Calls(&follower), 1u);
  EXPECT_EQ(follower.LongestOpenNs(), 0);
}

TEST_F(Follow, DifferingArgumentsAreAnAlarm) {
  RunFollower follower({dir_.path()}, {});
  Write(0, 0, 8);
  ASSERT_TRUE(follower.Poll());
  EXPECT_FALSE(follower.TakeAlarm());
  Write(1, 0, 9);
  ASSERT_TRUE(follower.Poll());
  EXPECT_TRUE(follower.TakeAlarm());
  EXPECT_FALSE(follower.TakeAlarm());
}

TEST_F(Follow, EndsAreSeenAndBadOnesAreAnAlarm) {
  RunFollower follower({dir_.path()}, {});
  files_[0]->AddEnd(proto::ProcessEnd::EXITED, 0, 3'000'000'000).Cut();
  ASSERT_TRUE(follower.Poll());
  EXPECT_FALSE(follower.AllEnded());
  EXPECT_FALSE(follower.TakeAlarm());
  files_[1]->AddEnd(proto::ProcessEnd::SIGNALED, 9, 3'000'000'000).Cut();
  ASSERT_TRUE(follower.Poll());
  EXPECT_TRUE(follower.AllEnded());
  EXPECT_TRUE(follower.TakeAlarm());
}

TEST_F(Follow, KeepsTheLatestCallsOnly) {
  FollowOptions options;
  options.most_calls = 1;
  RunFollower follower({dir_.path()}, options);
  for (uint32_t seq = 0; seq < 20'000; ++seq) {
    files_[0]->Add(BatchOf({AllReduce(seq, 8)}, seq));
    if (seq % 1000 == 999) files_[0]->Cut();
  }
  ASSERT_TRUE(follower.Poll());
  analyzer::Run run = follower.Take();
  const Process& process = run.processes[0];
  EXPECT_LT(process.calls.size(), 10'000u);
  EXPECT_EQ(process.calls.back().seq, 19'999u);
  ASSERT_EQ(process.dropped.sums.size(), 1u);
  EXPECT_EQ(process.dropped.sums[0].calls + process.calls.size(), 20'000u);
}

Diagnosis Fault(Proof proof, int rank) {
  Diagnosis diagnosis;
  diagnosis.verdict = Diagnosis::kFault;
  Finding finding;
  finding.kind = "stall";
  finding.proof = proof;
  finding.first.rank = rank;
  diagnosis.findings.push_back(finding);
  return diagnosis;
}

TEST(FollowJudge, TellsOfAWaitOnlyWhenItHasStoodStill) {
  FollowJudge judge(10);
  EXPECT_FALSE(judge.MayTell(Fault(Proof::kMissing, 3), false, 100));
  EXPECT_FALSE(judge.MayTell(Fault(Proof::kMissing, 3), false, 109));
  EXPECT_TRUE(judge.MayTell(Fault(Proof::kMissing, 3), false, 110));
}

TEST(FollowJudge, BeginsAnewWhenAnotherWaits) {
  FollowJudge judge(10);
  EXPECT_FALSE(judge.MayTell(Fault(Proof::kCycle, 3), false, 100));
  EXPECT_FALSE(judge.MayTell(Fault(Proof::kCycle, 4), false, 111));
  EXPECT_FALSE(judge.MayTell(Diagnosis(), false, 112));
  EXPECT_FALSE(judge.MayTell(Fault(Proof::kCycle, 4), false, 122));
}

TEST(FollowJudge, TellsOfAProvenFaultWithinASecond) {
  FollowJudge judge(10);
  EXPECT_FALSE(judge.MayTell(Fault(Proof::kOwnEnd, 3), false, 100));
  EXPECT_LT(judge.SecondsLeft(100), 1);
  EXPECT_TRUE(judge.MayTell(Fault(Proof::kOwnEnd, 3), false, 100.9));
}

TEST(FollowJudge, TellsEverythingWhenAllIsOver) {
  FollowJudge judge(10);
  EXPECT_TRUE(judge.MayTell(Diagnosis(), true, 100));
  EXPECT_TRUE(judge.MayTell(Fault(Proof::kMissing, 3), true, 100));
}

}  // namespace
}  // namespace ddbg::analyzer
