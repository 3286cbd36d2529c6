// What the time of steps goes into, in made-up jobs.
#include "analyzer/report/step_times.h"

#include <gtest/gtest.h>

#include "analyzer/report/step_summary.h"
#include "tests/golden/log_reader.h"

namespace ddbg::analyzer {
namespace {

struct Job {
  GoldenLog log;
  Matching matching;
  Steps steps;
  std::vector<StepTimes> times;

  explicit Job(const std::string& text)
      : log(ReadGoldenLog(text)),
        matching(MatchCollectives(log.run)),
        steps(log.run, matching),
        times(TimesOfSteps(log.run, matching, steps, Timeline(log.run), PhasesOf(log.run))) {
    EXPECT_EQ(log.error, "");
  }
  const StepTimes& Of(size_t process, int64_t number) const {
    for (const StepTimes& one : times)
      if (one.process == process && one.number == number) return one;
    ADD_FAILURE() << "no step " << number;
    return times.front();
  }
};

// A line is a millisecond; rank 1 is a microsecond after rank 0 in the same line.
const char* const kLateRank =
    "ranks 2\nall: Init @main\n"
    "repeat 6 {\n"
    "0: Allreduce count=100 type=MPI_INT op=SUM for=0.003 @step\n"
    "1: Allreduce count=100 type=MPI_INT op=SUM for=0.002 @step\n"
    "all: Recv peer=0 tag=1 count=1 type=MPI_INT comm=MPI_COMM_WORLD for=0.0005 @message\n"
    "all: Barrier for=0.0001 @end\n"
    "}\nall: Finalize\n";

TEST(StepTimes, WaitUntilTheLastMemberCame) {
  Job job(kLateRank);
  ASSERT_EQ(job.times.size(), 12u);
  const StepTimes &early = job.Of(0, 3), &late = job.Of(1, 3);
  // For the other's allreduce 1.001 ms, in the receive all of it (but what lies in the allreduce), for the barrier 1
  // us.
  EXPECT_EQ(early.wait_ns, 1'001'000 + 500'000 + 1'000);
  EXPECT_EQ(late.wait_ns, 500'000);
  EXPECT_EQ(early.calls_ns, 3'000'000 + 100'000);
  EXPECT_EQ(early.duration_ns, 4'000'000);
  EXPECT_EQ(early.own_ns, early.duration_ns - early.calls_ns);
  EXPECT_EQ(early.lead_ns, 900'000);
  EXPECT_FALSE(early.open);
}

TEST(StepTimes, ArePartedByMarkedPhases) {
  Job job(
      "ranks 1\nall: Init @main\nrepeat 5 {\nall: ddbg_step number=1\nall: ddbg_phase_begin name=loader\nall: "
      "ddbg_phase_end\n"
      "all: ddbg_phase_begin name=mine\nall: Barrier @b\nall: ddbg_phase_end name=mine\n}\n");
  // One number: one step.
  ASSERT_EQ(job.times.size(), 1u);
  EXPECT_EQ(job.times[0].phases.at("loader"), 5'000'000);
  EXPECT_EQ(job.times[0].phases.at("mine"), 10'000'000);
  EXPECT_EQ(PartNames(job.times),
            (std::vector<std::string>{"duration", "loader", "mine", "in calls", "waiting", "other"}));
}

TEST(StepTimes, OfAStepThatHangsAreOpen) {
  Job job(
      "ranks 2\nall: Init @main\nrepeat 4 {\nall: Allreduce count=100 type=MPI_INT op=SUM @step\n}\n"
      "0: Allreduce count=100 type=MPI_INT op=SUM @step open\nat 30\n");
  EXPECT_TRUE(job.Of(0, 4).open);
  EXPECT_GT(job.Of(0, 4).wait_ns, 0);
}

TEST(StepSummary, NamesTheSlowestRankAndTheStepThatStandsOut) {
  std::string text = "ranks 3\nall: Init @main\n";
  for (int step = 0; step < 12; ++step) {
    text += "all: ddbg_step number=" + std::to_string(step) + "\n";
    text +=
        "0,2: Allreduce count=100 type=MPI_INT op=SUM for=" + std::string(step == 7 ? "0.2001" : "0.0061") + " @step\n";
    for (int i = 0; i < (step == 7 ? 199 : 5); ++i) text += "1: ddbg_phase_begin name=x\n";
    text += "1: Allreduce count=100 type=MPI_INT op=SUM for=0.0001 @step\n";
  }
  Job job(text + "all: ddbg_step number=12\nall: Barrier @end\n");
  StepSummary summary = SummarizeSteps(job.times);
  ASSERT_EQ(summary.steps.size(), 13u);
  for (int step = 0; step < 12; ++step) {
    EXPECT_EQ(summary.steps[step].slowest, 1u) << step;
    EXPECT_EQ(summary.steps[step].outlier, step == 7) << step;
  }
  EXPECT_EQ(summary.ranks[1].times_slowest, 12u);
  EXPECT_EQ(summary.ranks[0].times_slowest, 0u);
  EXPECT_EQ(summary.parts[0].name, "duration");
  EXPECT_EQ(summary.parts[0].max_step, 7);
}

}  // namespace
}  // namespace ddbg::analyzer
