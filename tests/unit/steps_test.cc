// Steps of made-up jobs: where turns are found, and under which numbers, on every rank.
#include "analyzer/steps/steps.h"

#include <gtest/gtest.h>

#include <string>

#include "analyzer/model/call_fields.h"
#include "analyzer/steps/phases.h"
#include "tests/golden/log_reader.h"

namespace ddbg::analyzer {
namespace {

struct Job {
  GoldenLog log;
  Matching matching;
  Steps steps;

  explicit Job(const std::string& text)
      : log(ReadGoldenLog(text)), matching(MatchCollectives(log.run)), steps(log.run, matching) {
    EXPECT_EQ(log.error, "");
  }
  const Process& rank(size_t r) const { return log.run.processes[r]; }

  // Steps of the calls from this place in the source, in order.
  std::vector<int64_t> NumbersOf(size_t r, const std::string& name) const {
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < rank(r).calls.size(); ++i)
      if (CallName(rank(r), rank(r).calls[i]) == name) numbers.push_back(steps.NumberOf(r, i));
    return numbers;
  }
};

std::vector<int64_t> UpTo(int64_t n, int64_t times = 1) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < n; ++i) numbers.insert(numbers.end(), static_cast<size_t>(times), i);
  return numbers;
}

std::string Repeat(int times, const std::string& lines) {
  std::string text;
  for (int i = 0; i < times; ++i) text += lines;
  return text;
}

const std::string kStart =
    "ranks 4\n"
    "all: Init @main\n"
    "all: Bcast root=0 count=1000 type=MPI_FLOAT @weights\n"
    "all: Barrier @ready\n";

TEST(Steps, AreTheTurnsOfALoopOfOneCollective) {
  Job job(kStart + Repeat(10, "all: Allreduce count=100 type=MPI_FLOAT op=SUM @step\n") +
          "all: Barrier @end\nall: Finalize\n");
  EXPECT_EQ(job.steps.source(), StepSource::kInferred);
  for (size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), UpTo(10));
    EXPECT_EQ(job.NumbersOf(r, "MPI_Barrier"), (std::vector<int64_t>{-1, -1}));
    EXPECT_EQ(job.NumbersOf(r, "MPI_Init"), std::vector<int64_t>{-1});
  }
}

TEST(Steps, HaveNothingToCountWhereNothingRecurs) {
  Job job(kStart +
          "all: Allreduce count=1 type=MPI_INT op=SUM @a\nall: Gather root=0 count=1 type=MPI_INT @b\nall: Finalize\n");
  EXPECT_EQ(job.steps.source(), StepSource::kNone);
  EXPECT_NE(job.steps.how(), "");
  EXPECT_TRUE(job.steps.of(0).empty());
  EXPECT_EQ(job.steps.NumberOf(0, 1), -1);
}

TEST(Steps, AreNotTheBroadcastsOfTheBeginning) {
  Job job(kStart + Repeat(40, "all: Bcast root=0 count=7 type=MPI_FLOAT @parameters\n") +
          Repeat(5, "all: Allreduce count=100 type=MPI_FLOAT op=SUM @step\n"));
  EXPECT_EQ(job.NumbersOf(1, "MPI_Allreduce"), UpTo(5));
  EXPECT_EQ(job.NumbersOf(1, "MPI_Bcast")[20], -1);
}

const std::string kBuckets =
    "all: Allreduce count=100 type=MPI_FLOAT op=SUM @bucket\n"
    "all: Allreduce count=400 type=MPI_FLOAT op=SUM @bucket\n"
    "all: Allreduce count=30 type=MPI_FLOAT op=SUM @bucket\n";

TEST(Steps, HaveSeveralBucketsFromOnePlace) {
  Job job(kStart + Repeat(8, kBuckets) + "all: Finalize\n");
  for (size_t r = 0; r < 4; ++r) EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), UpTo(8, 3));
}

TEST(Steps, CountTheFirstTurnThoughItsBucketsDiffer) {
  Job job(kStart +
          "all: Allreduce count=430 type=MPI_FLOAT op=SUM @bucket\n"
          "all: Allreduce count=100 type=MPI_FLOAT op=SUM @bucket\n" +
          Repeat(8, kBuckets));
  std::vector<int64_t> expected = {0, 0};
  for (int64_t n : UpTo(8, 3)) expected.push_back(n + 1);
  EXPECT_EQ(job.NumbersOf(2, "MPI_Allreduce"), expected);
}

TEST(Steps, IgnoreWhatComesEveryFewTurns) {
  std::string evaluation = Repeat(3, "all: Allreduce count=2 type=MPI_FLOAT op=SUM @metric\n");
  std::string checkpoint =
      "all: Barrier @checkpoint\n0: Bcast root=0 count=1 type=MPI_INT comm=MPI_COMM_WORLD @saved\n"
      "1-3: Bcast root=0 count=1 type=MPI_INT @saved\n";
  Job job(kStart + Repeat(4, Repeat(5, kBuckets) + evaluation + checkpoint));
  for (size_t r = 0; r < 4; ++r) {
    std::vector<int64_t> buckets;
    for (size_t i = 0; i < job.rank(r).calls.size(); ++i)
      if (job.rank(r).calls[i].count >= 30 && CallName(job.rank(r), job.rank(r).calls[i]) == "MPI_Allreduce")
        buckets.push_back(job.steps.NumberOf(r, i));
    EXPECT_EQ(buckets, UpTo(20, 3));
  }
}

const std::string kTwoByTwo =
    "all: Init @main\n0-1: Comm_split new=tp:0-1 @tp\n2-3: Comm_split new=tp:2-3 @tp\n"
    "0,2: Comm_split new=dp:0,2 @dp\n1,3: Comm_split new=dp:1,3 @dp\n";

TEST(Steps, SpanLayersOfTensorParallelism) {
  std::string layer = "all: Allreduce comm=tp count=64 type=MPI_FLOAT op=SUM @layer\n";
  Job job("ranks 4\n" + kTwoByTwo +
          Repeat(6, Repeat(8, layer) + "all: Allreduce comm=dp count=500 type=MPI_FLOAT op=SUM @gradients\n"));
  for (size_t r = 0; r < 4; ++r) {
    std::vector<int64_t> expected;
    for (int64_t n = 0; n < 6; ++n) expected.insert(expected.end(), 9, n);
    EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), expected) << "rank " << r;
  }
}

TEST(Steps, SpanMicroBatches) {
  std::string micro =
      "all: Allgather count=64 type=MPI_FLOAT @gather\nall: Reduce_scatter_block count=64 type=MPI_FLOAT op=SUM "
      "@scatter\n";
  std::string end = "all: Allreduce count=4096 type=MPI_FLOAT op=SUM @gradients\n";
  for (int k : {2, 4, 16}) {
    Job job(kStart + Repeat(5, Repeat(k, micro) + end));
    EXPECT_EQ(job.NumbersOf(3, "MPI_Allgather"), UpTo(5, k)) << k << " micro-batches";
    EXPECT_EQ(job.NumbersOf(3, "MPI_Allreduce"), UpTo(5)) << k << " micro-batches";
  }
}

// Four stages, `micro` micro-batches a step; a one-element sum of the loss ends the step.
std::string Pipeline(int micro, int steps) {
  const int stages = 4;
  std::string text = "ranks 4\nall: Init @main\n";
  auto line = [](int rank, const char* call, int peer, const char* site) {
    return std::to_string(rank) + ": " + call + " peer=" + std::to_string(peer) +
           " tag=1 count=64 type=MPI_FLOAT comm=MPI_COMM_WORLD @" + site + "\n";
  };
  for (int step = 0; step < steps; ++step) {
    for (int s = 0; s < stages; ++s) {
      auto forward = [&] {
        if (s > 0) text += line(s, "Recv", s - 1, "forward");
        if (s + 1 < stages) text += line(s, "Send", s + 1, "forward");
      };
      auto backward = [&] {
        if (s + 1 < stages) text += line(s, "Recv", s + 1, "backward");
        if (s > 0) text += line(s, "Send", s - 1, "backward");
      };
      int warm = std::min(stages - s - 1, micro);
      for (int i = 0; i < warm; ++i) forward();
      for (int i = warm; i < micro; ++i) forward(), backward();
      for (int i = 0; i < warm; ++i) backward();
    }
    text += "all: Allreduce count=1 type=MPI_FLOAT op=SUM @loss\n";
  }
  return text;
}

TEST(Steps, AreTheSameOnAllStagesOfAPipeline) {
  for (int micro : {4, 8, 16}) {
    Job job(Pipeline(micro, 6));
    for (size_t r = 0; r < 4; ++r) {
      EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), UpTo(6)) << micro << " micro-batches, rank " << r;
      EXPECT_EQ(job.NumbersOf(r, "MPI_Send"), UpTo(6, micro * (r == 0 || r == 3 ? 1 : 2))) << "rank " << r;
    }
  }
}

TEST(Steps, ReachRanksThatShareNoCollectiveWithTheFirst) {
  // Two halves: each sums gradients for itself, and a message goes from one to the other each turn.
  std::string text = "ranks 4\nall: Init @main\n0-1: Comm_split new=dp:0-1 @dp\n2-3: Comm_split new=dp:2-3 @dp\n";
  std::string turn =
      "0: Send peer=2 tag=1 count=8 type=MPI_FLOAT comm=MPI_COMM_WORLD @send\n2: Recv peer=0 tag=1 count=8 "
      "type=MPI_FLOAT @recv\n"
      "all: Allreduce comm=dp count=100 type=MPI_FLOAT op=SUM @gradients\n";
  Job job(text + Repeat(7, turn));
  for (size_t r = 0; r < 4; ++r) EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), UpTo(7)) << "rank " << r;
  EXPECT_EQ(job.NumbersOf(2, "MPI_Recv"), UpTo(7));
}

TEST(Steps, GoOnInStepAfterARankLeftOutACall) {
  std::string bad =
      "all: Allreduce count=100 type=MPI_FLOAT op=SUM @bucket\n"
      "0-1,3: Allreduce count=400 type=MPI_FLOAT op=SUM @bucket\n"
      "all: Allreduce count=30 type=MPI_FLOAT op=SUM @bucket\n";
  Job job(kStart + Repeat(3, kBuckets) + bad + Repeat(6, kBuckets));
  std::vector<int64_t> all = UpTo(10, 3), without = all;
  without.erase(without.begin() + 10);
  EXPECT_EQ(job.NumbersOf(0, "MPI_Allreduce"), all);
  EXPECT_EQ(job.NumbersOf(2, "MPI_Allreduce"), without);
}

TEST(Steps, AreNotMeasuredByARankThatErrs) {
  // Rank 2 leaves out the end of turn 4 and is the one with most calls when all hang.
  std::string turn = kBuckets + "all: Bcast root=0 count=16 type=MPI_FLOAT @scale\n";
  std::string bad = kBuckets +
                    "0-1,3: Bcast root=0 count=16 type=MPI_FLOAT @scale open\n"
                    "2: Allreduce count=100 type=MPI_FLOAT op=SUM @bucket\n2: Isend peer=0 tag=1 count=1 type=MPI_INT "
                    "comm=MPI_COMM_WORLD\n"
                    "2: Isend peer=0 tag=1 count=1 type=MPI_INT comm=MPI_COMM_WORLD\n";
  Job job(kStart + Repeat(4, turn) + bad);
  for (size_t r : {0, 1, 3}) EXPECT_EQ(job.NumbersOf(r, "MPI_Bcast").back(), 4) << "rank " << r;
  EXPECT_EQ(job.NumbersOf(2, "MPI_Allreduce").back(), 4);  // which meets what the others do in turn 4
}

TEST(Steps, HoldWhatAllRanksDoAtTheEndOfSomeTurns) {
  // An evaluation every second turn; the communicator of each half sees its own part only.
  std::string text = "ranks 4\nall: Init @main\n0-1: Comm_split new=dp:0-1 @dp\n2-3: Comm_split new=dp:2-3 @dp\n";
  std::string turn =
      "all: Allreduce comm=dp count=900 type=MPI_FLOAT op=SUM @gradients\nall: Allreduce count=1 type=MPI_FLOAT op=SUM "
      "@loss\n";
  std::string evaluation = "all: Allreduce comm=dp count=3 type=MPI_FLOAT op=SUM @metric\nall: Barrier @evaluated\n";
  Job job(text + Repeat(5, turn + turn + evaluation) + "all: Finalize\n");
  std::vector<int64_t> barriers = {1, 3, 5, 7, 9};
  for (size_t r = 0; r < 4; ++r) EXPECT_EQ(job.NumbersOf(r, "MPI_Barrier"), barriers) << "rank " << r;
}

TEST(Steps, HoldExchangesOfSeveralFields) {
  std::string field =
      "0: Send peer=1 tag=1 count=64 type=MPI_FLOAT comm=MPI_COMM_WORLD @exchange\n"
      "1: Recv peer=0 tag=1 count=64 type=MPI_FLOAT comm=MPI_COMM_WORLD @exchange\n"
      "1: Send peer=0 tag=1 count=64 type=MPI_FLOAT comm=MPI_COMM_WORLD @exchange\n"
      "0: Recv peer=1 tag=1 count=64 type=MPI_FLOAT comm=MPI_COMM_WORLD @exchange\n";
  std::string residual = "all: Allreduce count=1 type=MPI_FLOAT op=MAX @residual\n";
  Job each("ranks 2\nall: Init @main\n" + Repeat(8, field + field + residual));
  EXPECT_EQ(each.NumbersOf(1, "MPI_Send"), UpTo(8, 2));
  // Every tenth turn is a look at how it goes.
  Job now_and_then("ranks 2\nall: Init @main\n" + Repeat(5, Repeat(10, field) + residual));
  EXPECT_EQ(now_and_then.NumbersOf(1, "MPI_Send"), UpTo(50));
}

TEST(Steps, HoldEqualBucketsThatFollowEachOtherAtOnce) {
  // 50 us apart, and 5 ms of work before the first of them.
  std::string text = "ranks 2\nall: Init @main\n";
  for (int n = 0; n < 9; ++n) {
    text += Repeat(4, "all: Allreduce count=500 type=MPI_FLOAT op=SUM for=0.00095 @bucket\n");
    text += "all: Allreduce count=1 type=MPI_FLOAT op=MAX for=0.0001 @flag\n" + Repeat(4, "all: Pcontrol level=2\n");
    if (n % 3 == 2) text += "all: Barrier @saved\n";
  }
  Job job(text);
  EXPECT_EQ(job.NumbersOf(0, "MPI_Barrier").size(), 3u);
  std::vector<int64_t> numbers;
  for (int64_t n = 0; n < 9; ++n) numbers.insert(numbers.end(), 5, n);
  EXPECT_EQ(job.NumbersOf(1, "MPI_Allreduce"), numbers);
}

TEST(Steps, OfPartsThatShareNothingAreTheirOwn) {
  std::string text = "ranks 4\nall: Init @main\n0-1: Comm_split new=a:0-1 @a\n2-3: Comm_split new=a:2-3 @a\n";
  Job job(text + Repeat(6, "all: Allreduce comm=a count=80 type=MPI_FLOAT op=SUM @s\n"));
  for (size_t r = 0; r < 4; ++r) EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), UpTo(6));
}

TEST(Steps, AreNotWhatOneWorkerRepeats) {
  // A farm of tasks: who works on which is by chance.
  std::string text = "ranks 5\nall: Init @main\nall: Barrier @start\n";
  uint32_t random = 7;
  for (int task = 0; task < 60; ++task) {
    random = random * 1664525u + 1013904223u;
    std::string worker = std::to_string(1 + (random >> 16) % 4);
    text += "0: Send peer=" + worker + " tag=1 count=4 type=MPI_INT comm=MPI_COMM_WORLD @task\n" + worker +
            ": Recv peer=0 tag=1 count=4 type=MPI_INT @task\n" + worker +
            ": Send peer=0 tag=2 count=4 type=MPI_INT @result\n" + "0: Recv peer=" + worker +
            " tag=2 count=4 type=MPI_INT @result\n";
  }
  Job job(text + "all: Barrier @end\nall: Finalize\n");
  if (job.steps.source() == StepSource::kNone) return;
  // If any, then of the whole farm: a task each.
  EXPECT_EQ(job.NumbersOf(0, "MPI_Send"), UpTo(60)) << job.steps.how();
}

TEST(Steps, HoldTheTurnThatHangs) {
  Job job(kStart + Repeat(6, kBuckets) +
          "all: Allreduce count=100 type=MPI_FLOAT op=SUM @bucket\n"
          "0-2: Allreduce count=400 type=MPI_FLOAT op=SUM @bucket open\n");
  for (size_t r = 0; r < 4; ++r) EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce").back(), 6) << "rank " << r;
}

TEST(Steps, GoOnBehindACheckpointThatComesForTheFirstTime) {
  Job job(
      kStart + Repeat(4, kBuckets) +
      "all: Barrier @checkpoint\nall: Bcast root=0 count=3 type=MPI_INT @checkpoint\n"
      "0-2: Allreduce count=100 type=MPI_FLOAT op=SUM @bucket open\n3: Gather root=0 count=1 type=MPI_INT @end open\n");
  for (size_t r = 0; r < 3; ++r) EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce").back(), 4) << job.steps.how();
  for (size_t r = 0; r < 4; ++r) EXPECT_EQ(job.NumbersOf(r, "MPI_Barrier").back(), 3) << job.steps.how();
  EXPECT_EQ(job.NumbersOf(3, "MPI_Gather").back(), 4);
}

TEST(Steps, EndEarlyOnARankThatLeavesTheLoop) {
  Job job(kStart + Repeat(5, kBuckets) + "3: Barrier @end\n0-2: Allreduce count=100 type=MPI_FLOAT op=SUM @bucket\n");
  EXPECT_EQ(job.NumbersOf(0, "MPI_Allreduce").back(), 5);
  EXPECT_EQ(job.NumbersOf(3, "MPI_Allreduce"), UpTo(5, 3));
  // It meets what the others do in turn 5.
  EXPECT_EQ(job.NumbersOf(3, "MPI_Barrier").back(), 5);
}

TEST(Steps, MayEachMakeACommunicatorOfTheirOwn) {
  std::string text = "ranks 4\nall: Init @main\n";
  for (int n = 0; n < 6; ++n) {
    std::string name = "c" + std::to_string(n);
    text += "0-1: Comm_split new=" + name + ":0-1 @split\n2-3: Comm_split new=" + name + ":2-3 @split\n";
    text += "all: Allreduce comm=" + name + " count=8 type=MPI_INT op=SUM @sum\n";
  }
  Job job(text + "all: Finalize\n");
  for (size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(job.NumbersOf(r, "MPI_Comm_split"), UpTo(6));
    EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), UpTo(6));
  }
}

TEST(Steps, FollowEachOtherWithoutGaps) {
  Job job(kStart + Repeat(6, kBuckets));
  const std::vector<Step>& steps = job.steps.of(1);
  ASSERT_EQ(steps.size(), 6u);
  for (size_t k = 1; k < steps.size(); ++k) {
    EXPECT_EQ(steps[k].start_ns, steps[k - 1].end_ns);
    EXPECT_EQ(steps[k].first_call, steps[k - 1].end_call);
    EXPECT_EQ(job.steps.NumberAt(1, (steps[k].start_ns + steps[k].end_ns) / 2), steps[k].number);
  }
  EXPECT_EQ(job.steps.NumberAt(1, steps[0].start_ns - 1), -1);
  EXPECT_EQ(job.steps.NumberAt(1, steps.back().end_ns), -1);
}

TEST(Steps, OfARunWithoutItsBeginningAreNumberedByWhatIsMissing) {
  Job job(kStart + Repeat(40, kBuckets));
  analyzer::Run cut = job.log.run;
  for (Process& process : cut.processes) process.calls.erase(process.calls.begin(), process.calls.begin() + 62);
  Matching matching = MatchCollectives(cut);
  Steps steps(cut, matching);
  ASSERT_EQ(steps.source(), StepSource::kInferred);
  // Two collectives came before the loop, so that call 62 is the last one of turn 19 or the first of turn 20.
  for (size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(steps.of(r).front().number, steps.of(0).front().number);
    EXPECT_NEAR(static_cast<double>(steps.of(r).back().number), 39.0, 1.0);
  }
}

TEST(MarkedSteps, HaveTheProgramsNumbers) {
  std::string text = kStart;
  for (int n : {7, 8, 9, 12})
    text += "all: ddbg_step number=" + std::to_string(n) + "\nall: Allreduce count=8 type=MPI_FLOAT op=SUM @step\n";
  Job job(text + "all: Finalize\nend all: exit 0\n");
  EXPECT_EQ(job.steps.source(), StepSource::kMarks);
  for (size_t r = 0; r < 4; ++r) EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), (std::vector<int64_t>{7, 8, 9, 12}));
  EXPECT_EQ(job.NumbersOf(0, "MPI_Bcast"), std::vector<int64_t>{-1});
  EXPECT_EQ(job.NumbersOf(0, "MPI_Finalize"), std::vector<int64_t>{-1});
}

TEST(MarkedSteps, ReachRanksThatDidNotMark) {
  std::string text = kStart;
  for (int n = 20; n < 25; ++n)
    text += "0: ddbg_step number=" + std::to_string(n) + "\nall: Allreduce count=8 type=MPI_FLOAT op=SUM @step\n";
  Job job(text);
  for (size_t r = 0; r < 4; ++r)
    EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), (std::vector<int64_t>{20, 21, 22, 23, 24})) << "rank " << r;
}

TEST(MarkedSteps, MayBeMissingOnARankNowAndThen) {
  std::string text = kStart;
  for (int n = 0; n < 5; ++n) {
    text += (n == 2 ? "0-2" : "all") + std::string(": ddbg_step number=") + std::to_string(n) + "\n";
    text += "all: Allreduce count=8 type=MPI_FLOAT op=SUM @step\n";
  }
  Job job(text);
  EXPECT_EQ(job.NumbersOf(0, "MPI_Allreduce"), UpTo(5));
  EXPECT_EQ(job.NumbersOf(3, "MPI_Allreduce"), (std::vector<int64_t>{0, 1, 1, 3, 4}));
}

// The request for a batch begins a step; where there is none more, what follows belongs to the step before.
TEST(MarkedSteps, AreNotBegunByTheEndOfTheData) {
  std::string text = kStart;
  int n = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int batch = 0; batch < 3; ++batch, ++n)
      text += "all: ddbg_step number=" + std::to_string(n) + "\nall: Allreduce count=8 type=MPI_FLOAT op=SUM @step\n";
    text += "all: ddbg_step number=" + std::to_string(n) +
            "\nall: ddbg_event name=end_of_data number=" + std::to_string(n) + "\nall: Barrier @evaluate\n";
  }
  Job job(text + "all: Finalize\nend all: exit 0\n");
  for (size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(job.NumbersOf(r, "MPI_Allreduce"), UpTo(6));
    EXPECT_EQ(job.NumbersOf(r, "MPI_Barrier"), (std::vector<int64_t>{-1, 2, 5}));
  }
}

TEST(MarkedSteps, AreCountedByThePhaseOfTheOptimizer) {
  std::string text = kStart;
  for (int n = 0; n < 4; ++n) {
    for (int micro = 0; micro < 3; ++micro)
      text += "all: ddbg_phase_begin name=forward\nall: ddbg_phase_end name=forward\n";
    text += "all: Allreduce count=8 type=MPI_FLOAT op=SUM @step\n";
    text += "all: ddbg_phase_begin name=optimizer\nall: Barrier @optimizer\nall: ddbg_phase_end\n";
  }
  Job job(text + "all: Barrier @end\n");
  EXPECT_EQ(job.steps.source(), StepSource::kMarks);
  EXPECT_EQ(job.NumbersOf(2, "MPI_Allreduce"), UpTo(4));
  EXPECT_EQ(job.NumbersOf(2, "MPI_Barrier"), (std::vector<int64_t>{-1, 0, 1, 2, 3, -1}));
}

TEST(Phases, LieInEachOther) {
  Job job(
      "ranks 1\nall: Init @main\nall: ddbg_phase_begin name=a\nall: ddbg_phase_begin name=b\nall: ddbg_phase_end\n"
      "all: ddbg_phase_begin name=c\nall: ddbg_phase_end name=a\nall: ddbg_phase_end name=a\nall: Pcontrol level=1 "
      "name=d\n"
      "all: Pcontrol level=1\nall: Pcontrol level=-1 name=d\n");
  std::vector<Phase> phases = PhasesOf(job.log.run)[0];
  ASSERT_EQ(phases.size(), 4u);
  EXPECT_EQ(phases[0].name + phases[1].name + phases[2].name + phases[3].name, "abcd");
  EXPECT_LT(phases[1].end_ns, phases[2].start_ns);
  EXPECT_EQ(phases[2].end_ns, phases[0].end_ns);
  EXPECT_EQ(phases[3].end_ns - phases[3].start_ns, 2'000'000);
}

}  // namespace
}  // namespace ddbg::analyzer
