#include "analyzer/report/env_diff.h"

#include "tests/unit/made_run.h"

namespace ddbg::analyzer {
namespace {

const FactDifference* Find(const FactComparison& comparison, const std::string& area, const std::string& name) {
  for (const FactDifference& difference : comparison.differences)
    if (difference.name == FactName{area, name}) return &difference;
  return nullptr;
}

TEST(EnvDiff, EqualRanksHaveNoDifference) {
  analyzer::Run run = MadeRun("ranks 4\nenv all: NCCL_DEBUG=INFO\nlibrary all: NCCL 2.28.9\n");
  FactComparison comparison = CompareRanks(run, false);
  EXPECT_TRUE(comparison.differences.empty());
  EXPECT_GT(comparison.equal, 3u);
  EXPECT_GT(comparison.hidden, 0u);  // the ranks themselves
}

TEST(EnvDiff, GroupsRanksByValueAndTheMostFirst) {
  analyzer::Run run = MadeRun("ranks 4\nenv 0,2-3: NCCL_IB_DISABLE=0\nenv 1: NCCL_IB_DISABLE=1\n");
  FactComparison comparison = CompareRanks(run, false);
  ASSERT_EQ(comparison.differences.size(), 1u);
  const FactDifference& difference = comparison.differences[0];
  EXPECT_EQ(difference.name.name, "NCCL_IB_DISABLE");
  ASSERT_EQ(difference.values.size(), 2u);
  EXPECT_EQ(difference.values[0].text, "0");
  EXPECT_EQ(difference.values[0].processes, (std::vector<size_t>{0, 2, 3}));
  EXPECT_EQ(difference.values[1].processes, (std::vector<size_t>{1}));
}

TEST(EnvDiff, AVariableThatARankDoesNotHaveIsADifference) {
  analyzer::Run run = MadeRun("ranks 3\nenv 0-1: OMP_NUM_THREADS=4\n");
  FactComparison comparison = CompareRanks(run, false);
  ASSERT_EQ(comparison.differences.size(), 1u);
  EXPECT_FALSE(comparison.differences[0].values[1].present);
  EXPECT_EQ(comparison.differences[0].values[1].processes, (std::vector<size_t>{2}));
}

TEST(EnvDiff, AnEmptyValueIsNotAnAbsentOne) {
  analyzer::Run run = MadeRun("ranks 2\nenv 0: EXTRA=\n");
  ASSERT_EQ(CompareRanks(run, false).differences.size(), 1u);
  EXPECT_TRUE(CompareRanks(run, false).differences[0].values[0].present !=
              CompareRanks(run, false).differences[0].values[1].present);
}

TEST(EnvDiff, RanksAndPidsAreShownOnlyIfAsked) {
  analyzer::Run run = MadeRun("ranks 2\nenv 0: RANK=0\nenv 1: RANK=1\nenv 0: SLURM_PROCID=0\nenv 1: SLURM_PROCID=1\n");
  EXPECT_TRUE(CompareRanks(run, false).differences.empty());
  FactComparison all = CompareRanks(run, true);
  ASSERT_TRUE(Find(all, "environment", "RANK"));
  EXPECT_TRUE(Find(all, "environment", "RANK")->expected);
  EXPECT_TRUE(Find(all, "environment", "SLURM_PROCID"));
  EXPECT_EQ(all.hidden, 0u);
}

TEST(EnvDiff, AWordThatOnlyHoldsTheLettersIsNoRank) {
  EXPECT_TRUE(DiffersByRank({"environment", "OMPI_COMM_WORLD_LOCAL_RANK"}));
  EXPECT_FALSE(DiffersByRank({"environment", "FRANKFURT"}));
  EXPECT_FALSE(DiffersByRank({"environment", "CUDA_VISIBLE_DEVICES"}));
}

TEST(EnvDiff, LibraryVersionsOfRanksAreCompared) {
  analyzer::Run run = MadeRun("ranks 4\nlibrary 0-2: NCCL 2.28.9\nlibrary 3: NCCL 2.27.3\n");
  FactComparison comparison = CompareRanks(run, false);
  ASSERT_TRUE(Find(comparison, "library", "NCCL"));
  EXPECT_EQ(Find(comparison, "library", "NCCL")->values[1].text, "2.27.3");
}

TEST(EnvDiff, AFileOfAnotherBuildIsADifferenceButOneNotLoadedIsNone) {
  analyzer::Run run = MadeRun("ranks 3\n");
  run.processes[0].modules.push_back({"/lib/libplugin.so", 0, 1ull << 41, 1ull << 42, "a"});
  EXPECT_FALSE(Find(CompareRanks(run, false), "file", "libplugin.so"));
  EXPECT_TRUE(Find(CompareRanks(run, true), "file", "libplugin.so"));
  run.processes[1].modules.push_back({"/lib/libplugin.so", 0, 1ull << 41, 1ull << 42, "b"});
  EXPECT_TRUE(Find(CompareRanks(run, false), "file", "libplugin.so"));
}

TEST(EnvDiff, RunsAreComparedByTheirValuesNotByWhoHasThem) {
  analyzer::Run good = MadeRun("ranks 4\nenv all: NCCL_ALGO=Ring\nenv 0: RANK=0\nenv all: DDBG_RUN_ID=a\n");
  analyzer::Run twin = MadeRun("ranks 2\nenv all: NCCL_ALGO=Ring\nenv 0: RANK=0\nenv all: DDBG_RUN_ID=b\n");
  analyzer::Run bad = MadeRun("ranks 4\nenv all: NCCL_ALGO=Tree\n");
  FactComparison same = CompareRuns(good, twin, false);
  ASSERT_EQ(same.differences.size(), 2u);  // the sizes of the runs, as the launcher and as MPI say them
  EXPECT_EQ(same.differences[0].name.area, "launcher");
  EXPECT_TRUE(Find(CompareRuns(good, bad, false), "environment", "NCCL_ALGO"));
  EXPECT_TRUE(Find(CompareRuns(good, twin, true), "environment", "DDBG_RUN_ID"));
}

TEST(EnvDiff, OfSeveralProcessesOfARankTheOneThatWorksCounts) {
  analyzer::Run run = MadeRun("ranks 2\nenv all: A=1\nall: Barrier\n");
  Process helper = run.processes[0];
  helper.calls.clear();
  helper.environment = {{"A", "2"}};
  run.processes.insert(run.processes.begin(), helper);
  EXPECT_EQ(RankProcesses(run), (std::vector<size_t>{1, 2}));
  EXPECT_TRUE(CompareRanks(run, false).differences.empty());
}

}  // namespace
}  // namespace ddbg::analyzer
