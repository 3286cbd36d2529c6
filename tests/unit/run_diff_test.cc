#include "analyzer/report/run_diff.h"

#include <set>

#include "analyzer/model/call_fields.h"
#include "analyzer/report/site_times.h"
#include "tests/unit/made_run.h"

namespace ddbg::analyzer {
namespace {

const std::string kStep =
    "all: Allreduce count=4 type=MPI_INT op=SUM @step\nall: Bcast root=0 count=8 type=MPI_DOUBLE @sync\n";

std::string Loop(int turns) { return "repeat " + std::to_string(turns) + " {\n" + kStep + "}\n"; }

class RunDiffTest : public testing::Test {
 protected:
  RunDiff Diff(const std::string& good, const std::string& bad) {
    good_ = MadeRun(good);
    bad_ = MadeRun(bad);
    return CompareCalls({good_, bad_, false}, &views_);
  }

  analyzer::Run good_, bad_;
  Symbolizer symbolizer_;
  StackViews views_{&symbolizer_};
};

TEST_F(RunDiffTest, SameProgramTwiceHasNoDifference) {
  std::string log =
      "ranks 4\nall: Init @main\n" + Loop(20) +
      "0: Send peer=1 tag=3 count=2 type=MPI_INT @send\n1: Recv peer=0 tag=3 count=2 type=MPI_INT @receive\n"
      "all: Finalize @main\nend all: exit 0\n";
  RunDiff diff = Diff(log, log);
  EXPECT_TRUE(diff.structural.empty());
  EXPECT_TRUE(diff.slower.empty());
  EXPECT_EQ(diff.ranks, 4u);
  EXPECT_EQ(diff.calls, 4u * 42 + 2);
}

TEST_F(RunDiffTest, AnExtraCallIsOneDifferenceAndNamesItsRank) {
  std::string before = "ranks 4\n" + Loop(5), after = Loop(5) + "end all: exit 0\n";
  RunDiff diff = Diff(before + after, before + "2: Barrier @save\n" + after);
  ASSERT_EQ(diff.structural.size(), 1u);
  EXPECT_EQ(diff.structural[0].kind, StructuralDifference::kExtra);
  EXPECT_EQ(diff.structural[0].position, 10u);
  EXPECT_EQ(diff.structural[0].calls, 1u);
  EXPECT_EQ(diff.structural[0].ranks, (std::vector<int32_t>{2}));
  EXPECT_EQ(CallName(bad_.processes[2], bad_.processes[2].calls[diff.structural[0].bad_call]), "MPI_Barrier");
}

TEST_F(RunDiffTest, AMissingCallIsToldWithTheCallOfTheGoodRun) {
  std::string before = "ranks 2\n" + Loop(3), after = Loop(3) + "end all: exit 0\n";
  RunDiff diff = Diff(before + "all: Barrier @save\n" + after, before + "0: Barrier @save\n" + after);
  ASSERT_EQ(diff.structural.size(), 1u);
  EXPECT_EQ(diff.structural[0].kind, StructuralDifference::kMissing);
  EXPECT_EQ(diff.structural[0].ranks, (std::vector<int32_t>{1}));
  EXPECT_EQ(CallName(good_.processes[1], good_.processes[1].calls[diff.structural[0].good_call]), "MPI_Barrier");
}

TEST_F(RunDiffTest, EachFieldIsNamed) {
  struct Case {
    std::string good, bad, field;
  };
  for (const Case& c : std::vector<Case>{
           {"Bcast root=0 count=8 type=MPI_INT @a", "Bcast root=0 count=9 type=MPI_INT @a", "count"},
           {"Bcast root=0 count=8 type=MPI_INT @a", "Bcast root=1 count=8 type=MPI_INT @a", "root"},
           {"Bcast root=0 count=8 type=MPI_INT @a", "Bcast root=0 count=8 type=MPI_DOUBLE @a", "datatype"},
           {"Bcast root=0 count=8 type=MPI_INT @a", "Bcast root=0 count=8 type=MPI_INT @b", "call site"},
           {"Bcast root=0 count=8 type=MPI_INT @a", "Barrier @a", "call"},
           {"Allreduce count=1 type=MPI_INT op=SUM @a", "Allreduce count=1 type=MPI_INT op=MAX @a", "op"}}) {
    std::string before = "ranks 2\n" + Loop(2), after = Loop(2) + "end all: exit 0\n";
    RunDiff diff =
        Diff(before + "all: " + c.good + "\n" + after, before + "0: " + c.good + "\n1: " + c.bad + "\n" + after);
    ASSERT_EQ(diff.structural.size(), 1u) << c.field;
    EXPECT_EQ(diff.structural[0].kind, StructuralDifference::kChanged) << c.field;
    EXPECT_EQ(diff.structural[0].field, c.field);
    EXPECT_EQ(diff.structural[0].ranks, (std::vector<int32_t>{1})) << c.field;
  }
}

TEST_F(RunDiffTest, TagsOfSendsAreComparedAndThoseOfReceivesAreNot) {
  std::string good =
      "ranks 2\n0: Send peer=1 tag=3 count=2 type=MPI_INT @s\n1: Recv peer=any tag=any count=2 type=MPI_INT @r\nend "
      "all: exit 0\n";
  std::string arrived =
      "ranks 2\n0: Send peer=1 tag=3 count=2 type=MPI_INT @s\n1: Recv peer=0 tag=3 count=2 type=MPI_INT @r\nend all: "
      "exit 0\n";
  std::string tag =
      "ranks 2\n0: Send peer=1 tag=4 count=2 type=MPI_INT @s\n1: Recv peer=any tag=any count=2 type=MPI_INT @r\nend "
      "all: exit 0\n";
  EXPECT_TRUE(Diff(good, arrived).structural.empty());
  RunDiff diff = Diff(good, tag);
  ASSERT_EQ(diff.structural.size(), 1u);
  EXPECT_EQ(diff.structural[0].field, "tag");
}

TEST_F(RunDiffTest, AnotherNumberOfStepsIsToldAsSuch) {
  std::string end = "all: Barrier @end\nall: Finalize @main\nend all: exit 0\n";
  RunDiff more = Diff("ranks 3\n" + Loop(10) + end, "ranks 3\n" + Loop(14) + end);
  ASSERT_EQ(more.structural.size(), 1u);
  EXPECT_EQ(more.structural[0].kind, StructuralDifference::kRepetitions);
  EXPECT_EQ(more.structural[0].turns, 4);
  EXPECT_EQ(more.structural[0].calls, 2u);
  EXPECT_EQ(more.structural[0].ranks, (std::vector<int32_t>{0, 1, 2}));
  RunDiff less = Diff("ranks 3\n" + Loop(14) + end, "ranks 3\n" + Loop(10) + end);
  ASSERT_EQ(less.structural.size(), 1u);
  EXPECT_EQ(less.structural[0].turns, -4);
}

TEST_F(RunDiffTest, MessagesInALoopThatTurnedMoreOftenAreNotToldAgain) {
  auto loop = [](int turns) {
    return "repeat " + std::to_string(turns) +
           " {\nall: Barrier @step\n0: Send peer=1 tag=1 count=1 type=MPI_INT @s\n1: Recv peer=0 tag=1 count=1 "
           "type=MPI_INT @r\n}\n";
  };
  RunDiff diff = Diff("ranks 2\n" + loop(5) + "end all: exit 0\n", "ranks 2\n" + loop(7) + "end all: exit 0\n");
  ASSERT_EQ(diff.structural.size(), 1u);
  EXPECT_EQ(diff.structural[0].lane, "collectives on MPI_COMM_WORLD");
}

TEST_F(RunDiffTest, AHungRunEndsEarlyAndIsNoShorterLoop) {
  std::string hung = "ranks 2\n" + Loop(5) + "0: Allreduce count=4 type=MPI_INT op=SUM @step open\n";
  RunDiff diff = Diff("ranks 2\n" + Loop(10) + "end all: exit 0\n", hung);
  ASSERT_EQ(diff.structural.size(), 2u);
  for (const StructuralDifference& d : diff.structural) EXPECT_EQ(d.kind, StructuralDifference::kEndsEarly);
  EXPECT_EQ(diff.structural[0].ranks, (std::vector<int32_t>{1}));  // which never came
  EXPECT_EQ(diff.structural[0].position, 10u);
}

TEST_F(RunDiffTest, TheCauseComesBeforeSequencesThatMerelyEnd) {
  std::string hung =
      "ranks 2\n" + Loop(5) + "1: Barrier @save open\n0: Allreduce count=4 type=MPI_INT op=SUM @step open\n";
  RunDiff diff = Diff("ranks 2\n" + Loop(10) + "end all: exit 0\n", hung);
  ASSERT_EQ(diff.structural.size(), 2u);
  EXPECT_EQ(diff.structural[0].field, "call");
  EXPECT_EQ(diff.structural[0].ranks, (std::vector<int32_t>{1}));
  EXPECT_EQ(diff.structural[1].kind, StructuralDifference::kEndsEarly);
}

TEST_F(RunDiffTest, CommunicatorsOfNcclAreMatchedByOrderNotByUid) {
  std::string log = "ranks 2 nccl\nall: ncclCommInitRank new=a:0-1 @init\nall: ncclCommInitRank new=b:0-1 @init\n";
  std::string calls =
      "all: ncclAllReduce comm=a count=8 type=ncclFloat32 op=SUM stream=1 @step\n"
      "all: ncclAllReduce comm=b count=4 type=ncclFloat32 op=SUM stream=1 @step\n";
  good_ = MadeRun(log + calls + "end all: exit 0\n");
  bad_ = MadeRun(log + calls + "end all: exit 0\n");
  for (Process& process : bad_.processes)
    for (auto& [id, comm] : process.comms) comm.uid ^= 0x1234567;
  EXPECT_TRUE(CompareCalls({good_, bad_, false}, &views_).structural.empty());
  RunDiff swapped =
      Diff(log + calls + "end all: exit 0\n",
           log + "all: ncclAllReduce comm=b count=8 type=ncclFloat32 op=SUM stream=1 @step\n" +
               "all: ncclAllReduce comm=a count=4 type=ncclFloat32 op=SUM stream=1 @step\nend all: exit 0\n");
  EXPECT_FALSE(swapped.structural.empty());
}

TEST_F(RunDiffTest, RanksOfOneRunOnlyAreSaid) {
  RunDiff diff = Diff("ranks 2\nall: Barrier @a\nend all: exit 0\n", "ranks 3\nall: Barrier @a\nend all: exit 0\n");
  EXPECT_TRUE(diff.only_good.empty());
  EXPECT_EQ(diff.only_bad, (std::vector<int32_t>{2}));
}

TEST_F(RunDiffTest, WhatBecameSlowerIsFoundAndTheWaitersAreToldApart) {
  std::string log = "ranks 2\n" + Loop(20) + "end all: exit 0\n";
  good_ = MadeRun(log);
  bad_ = MadeRun(log);
  // Rank 0 comes late to each Bcast of the bad run: it computes longer, and rank 1 waits.
  for (Call& call : bad_.processes[0].calls)
    if (CallName(bad_.processes[0], call) == "MPI_Bcast") call.start_ns += 700'000;
  for (Call& call : bad_.processes[1].calls)
    if (CallName(bad_.processes[1], call) == "MPI_Bcast") call.duration_ns += 700'000;
  RunDiff diff = CompareCalls({good_, bad_, false}, &views_);
  EXPECT_TRUE(diff.structural.empty());
  std::set<std::string> measures;
  for (const SlowerSite& row : diff.slower) {
    EXPECT_EQ(row.call, "MPI_Bcast");
    EXPECT_NEAR(static_cast<double>(row.excess_ns), 20 * 700'000, 20 * 70'000) << row.measure;
    measures.insert(row.measure);
  }
  EXPECT_EQ(measures, (std::set<std::string>{"duration", "own time", "waiting"}));
}

TEST(TimeHistogram, QuantilesAreWithinFourPercent) {
  TimeHistogram times;
  for (int64_t ns = 1; ns <= 100'000; ++ns) times.Add(ns * 1000);
  Spread spread = times.Summary();
  EXPECT_EQ(spread.calls, 100'000u);
  EXPECT_NEAR(static_cast<double>(spread.median_ns), 50e6, 50e6 * 0.04);
  EXPECT_NEAR(static_cast<double>(spread.p95_ns), 95e6, 95e6 * 0.04);
  EXPECT_EQ(spread.total_ns, int64_t{1000} * 100'000 * 100'001 / 2);
}

}  // namespace
}  // namespace ddbg::analyzer
