// Roles of communicators in made-up jobs, by how they are used.
#include "analyzer/steps/roles.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/golden/log_reader.h"

namespace ddbg::analyzer {
namespace {

struct Job {
  GoldenLog log;
  Matching matching;
  Steps steps;
  Roles roles;

  explicit Job(const std::string& text)
      : log(ReadGoldenLog(text)),
        matching(MatchCollectives(log.run)),
        steps(log.run, matching),
        roles(log.run, matching, steps) {
    EXPECT_EQ(log.error, "");
  }
  CommRole Of(const std::string& name) const {
    for (size_t g = 0; g < matching.groups.size(); ++g)
      if (matching.groups[g].name == name) return roles.of(g);
    ADD_FAILURE() << "no communicator " << name;
    return {};
  }
};

std::string Repeat(int times, const std::string& lines) {
  std::string text;
  for (int i = 0; i < times; ++i) text += lines;
  return text;
}

// Names that say nothing, so that use decides.
const std::string kTwoByTwo =
    "ranks 4\nall: Init @main\n0-1: Comm_split new=a:0-1 @a\n2-3: Comm_split new=a:2-3 @a\n"
    "0,2: Comm_split new=b:0,2 @b\n1,3: Comm_split new=b:1,3 @b\n";

TEST(Roles, OfTensorAndDataParallelism) {
  Job job(kTwoByTwo + Repeat(6, Repeat(8, "all: Allreduce comm=a count=64 type=MPI_FLOAT op=SUM @layer\n") +
                                    "all: Allreduce comm=b count=5000 type=MPI_FLOAT op=SUM @gradients\n"
                                    "all: Allreduce count=1 type=MPI_FLOAT op=SUM @loss\n"));
  EXPECT_EQ(job.Of("a").role, Role::kTensorParallel) << job.Of("a").why;
  EXPECT_EQ(job.Of("b").role, Role::kDataParallel) << job.Of("b").why;
  EXPECT_EQ(job.Of("MPI_COMM_WORLD").role, Role::kWorld) << job.Of("MPI_COMM_WORLD").why;
  EXPECT_GE(job.Of("a").confidence, 0.7);
  EXPECT_GE(job.Of("b").confidence, 0.7);
}

TEST(Roles, OfTheOnlyCommunicatorOfADataParallelJob) {
  Job job(
      "ranks 4\nall: Init @main\n" +
      Repeat(
          5,
          "all: Allreduce count=4096 type=MPI_FLOAT op=SUM @a\nall: Allreduce count=100 type=MPI_FLOAT op=SUM @a\n"));
  EXPECT_EQ(job.Of("MPI_COMM_WORLD").role, Role::kDataParallel);
  EXPECT_GE(job.Of("MPI_COMM_WORLD").confidence, 0.6);
  EXPECT_LT(job.Of("MPI_COMM_WORLD").confidence, 1.0);
}

TEST(Roles, OfExpertsByTheirExchanges) {
  // Uneven by design: MPI_Alltoallv has no one count.
  Job job(kTwoByTwo + Repeat(5,
                             "all: Alltoallv comm=b count=0 @dispatch\nall: Alltoallv comm=b count=0 @combine\n"
                             "all: Allreduce count=5000 type=MPI_FLOAT op=SUM @gradients\n"));
  EXPECT_EQ(job.Of("b").role, Role::kExpertParallel);
  EXPECT_EQ(job.Of("MPI_COMM_WORLD").role, Role::kDataParallel);
}

TEST(Roles, OfAPipelineByItsChain) {
  std::string text = "ranks 4\nall: Init @main\nall: Comm_split new=c:0-3 @c\n";
  std::string step =
      "0: Send comm=c peer=1 tag=0 count=64 type=MPI_FLOAT @f\n1: Recv comm=c peer=0 tag=0 count=64 type=MPI_FLOAT @f\n"
      "1: Send comm=c peer=2 tag=0 count=64 type=MPI_FLOAT @f\n2: Recv comm=c peer=1 tag=0 count=64 type=MPI_FLOAT @f\n"
      "2: Send comm=c peer=3 tag=0 count=64 type=MPI_FLOAT @f\n3: Recv comm=c peer=2 tag=0 count=64 type=MPI_FLOAT @f\n"
      "3: Send comm=c peer=2 tag=1 count=64 type=MPI_FLOAT @b\n2: Recv comm=c peer=3 tag=1 count=64 type=MPI_FLOAT @b\n"
      "2: Send comm=c peer=1 tag=1 count=64 type=MPI_FLOAT @b\n1: Recv comm=c peer=2 tag=1 count=64 type=MPI_FLOAT @b\n"
      "1: Send comm=c peer=0 tag=1 count=64 type=MPI_FLOAT @b\n0: Recv comm=c peer=1 tag=1 count=64 type=MPI_FLOAT "
      "@b\n";
  Job job(text + Repeat(5, step + "all: Allreduce count=1 type=MPI_FLOAT op=SUM @loss\n"));
  EXPECT_EQ(job.Of("c").role, Role::kPipelineParallel) << job.Of("c").why;
}

TEST(Roles, OfAHaloExchangeAreNotAPipelines) {
  std::string text = "ranks 3\nall: Init @main\nall: Comm_split new=c:0-2 @c\n";
  std::string step =
      "0: Sendrecv comm=c peer=1 tag=0 count=64 type=MPI_FLOAT @h\n1: Sendrecv comm=c peer=0 tag=0 count=64 "
      "type=MPI_FLOAT @h\n"
      "1: Sendrecv comm=c peer=2 tag=0 count=64 type=MPI_FLOAT @h\n2: Sendrecv comm=c peer=1 tag=0 count=64 "
      "type=MPI_FLOAT @h\n";
  Job job(text + Repeat(5, step + "all: Allreduce count=1 type=MPI_FLOAT op=MAX @residual\n"));
  EXPECT_NE(job.Of("c").role, Role::kPipelineParallel) << job.Of("c").why;
}

TEST(Roles, AreUnknownWhereUseDoesNotTell) {
  Job job(kTwoByTwo + "all: Allreduce comm=a count=1 type=MPI_INT op=SUM @once\n");
  EXPECT_EQ(job.Of("a").role, Role::kUnknown);
  EXPECT_EQ(job.Of("a").confidence, 0.0);
  EXPECT_NE(job.Of("a").why, "");
}

TEST(Roles, AreLessSureOfWeightsAveragedNowAndThen) {
  std::string step = "all: Allreduce count=2 type=MPI_FLOAT op=SUM @metric\n";
  Job often("ranks 4\nall: Init @main\n" +
            Repeat(20, step + "all: Allreduce count=5000 type=MPI_FLOAT op=SUM @gradients\n"));
  Job rare("ranks 4\nall: Init @main\n" +
           Repeat(5, Repeat(4, "all: Barrier @step\n" + step) + "all: Allgather count=5000 type=MPI_FLOAT @weights\n"));
  EXPECT_EQ(rare.Of("MPI_COMM_WORLD").role, Role::kDataParallel);
  EXPECT_LT(rare.Of("MPI_COMM_WORLD").confidence, often.Of("MPI_COMM_WORLD").confidence);
}

TEST(Roles, AreTakenFromANameThatSaysThem) {
  Job job("ranks 4\nall: Init @main\n0-1: Comm_split new=dp_group:0-1 @a\n2-3: Comm_split new=dp_group:2-3 @a\n" +
          Repeat(5, "all: Allreduce comm=dp_group count=64 type=MPI_FLOAT op=SUM @s\n"));
  EXPECT_EQ(job.Of("dp_group").role, Role::kDataParallel);
  EXPECT_NE(job.Of("dp_group").why.find("dp_group"), std::string::npos);
}

}  // namespace
}  // namespace ddbg::analyzer
