// What is made of each launcher's environment.
#include "shim/recorder/launcher.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <string>

#include "shim/recorder/run_id.h"
#include "shim/recorder/spawned.h"
#include "shim/recorder/tf_config.h"

namespace ddbg::shim {
namespace {

using Variables = std::map<std::string, std::string>;

// Words as a process reads them that has these variables and none of another launcher.
LauncherWords Words(const Variables& variables) {
  for (const char* name : kLauncherVariables) unsetenv(name);
  for (const char* name : {"TF_CONFIG", "ENVIRONMENT", "ACCELERATE_USE_CPU"}) unsetenv(name);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  LauncherWords words = ReadLauncherWords();
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  return words;
}

struct Expected {
  const char* name;
  Variables variables;
  int32_t rank, world_size, local_rank, node_rank;
  const char* launcher;
  uint32_t attempt;
};

class Launchers : public testing::TestWithParam<Expected> {};

TEST_P(Launchers, AreUnderstood) {
  const Expected& expected = GetParam();
  LauncherWords words = Words(expected.variables);
  LaunchedAs as = Ranks(words);
  EXPECT_EQ(as.rank, expected.rank);
  EXPECT_EQ(as.world_size, expected.world_size);
  EXPECT_EQ(as.local_rank, expected.local_rank);
  EXPECT_EQ(as.node_rank, expected.node_rank);
  EXPECT_EQ(LauncherName(words), expected.launcher);
  EXPECT_EQ(AttemptId(words), expected.attempt);
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"GROUP_RANK", "1"},
                             {"MASTER_ADDR", "a"},
                             {"TORCHELASTIC_RUN_ID", "none"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"},
                             {"TORCHELASTIC_MAX_RESTARTS", "3"}};
const Variables kSlurm = {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"},  {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "1"}, {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "0"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                            {"PMIX_RANK", "2"},
                            {"PMIX_NAMESPACE", "123"}};
const char kCluster[] = R"({"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}, "task": )";

Variables With(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

INSTANTIATE_TEST_SUITE_P(
    All, Launchers,
    testing::Values(
        Expected{"none", {}, -1, -1, -1, -1, "", 0}, Expected{"torchrun", kTorchrun, 5, 8, 1, 1, "torchrun", 2},
        Expected{"accelerate", With(kTorchrun, {{"ACCELERATE_USE_CPU", "true"}}), 5, 8, 1, 1, "accelerate", 2},
        Expected{"by_hand", {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "x"}}, 1, 2, -1, -1, "", 0},
        Expected{"slurm", kSlurm, 3, 4, 1, 1, "Slurm", 0},
        Expected{"slurm_requeued", With(kSlurm, {{"SLURM_RESTART_COUNT", "2"}}), 3, 4, 1, 1, "Slurm", 2},
        Expected{"slurm_script_made_rank", With(kSlurm, {{"RANK", "3"}, {"WORLD_SIZE", "4"}}), 3, 4, 1, 1, "Slurm", 0},
        // sbatch's own script: task 0 of four, none of which it is
        Expected{"slurm_batch",
                 {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}, {"ENVIRONMENT", "BATCH"}},
                 -1,
                 -1,
                 -1,
                 -1,
                 "",
                 0},
        Expected{"slurm_batch_step", With(kSlurm, {{"SLURM_STEP_ID", "4294967291"}}), -1, -1, -1, -1, "", 0},
        // a torchrun on each node: Slurm numbers these
        Expected{"srun_torchrun", With(kSlurm, kTorchrun), 5, 8, 1, 1, "torchrun", 2},
        // all of torchrun's restarts of the first start come before those of the second
        Expected{"srun_torchrun_requeued", With(With(kSlurm, kTorchrun), {{"SLURM_RESTART_COUNT", "1"}}), 5, 8, 1, 1,
                 "torchrun", 6},
        Expected{"open_mpi", kOpenMpi, 2, 4, 0, -1, "Open MPI mpirun", 0},
        Expected{"open_mpi_in_slurm", With(With(kSlurm, {{"SLURM_PROCID", "0"}}), kOpenMpi), 2, 4, 0, 1,
                 "Open MPI mpirun", 0},
        Expected{"open_mpi_torch", With(kOpenMpi, {{"RANK", "1"}, {"WORLD_SIZE", "4"}}), 1, 4, 0, -1, "Open MPI mpirun",
                 0},
        // RANK alone may be anybody's word
        Expected{"open_mpi_rank_alone", With(kOpenMpi, {{"RANK", "1"}}), 2, 4, 0, -1, "Open MPI mpirun", 0},
        Expected{"rank_is_no_number", With(kOpenMpi, {{"RANK", "captain"}, {"WORLD_SIZE", "4"}}), 2, 4, 0, -1,
                 "Open MPI mpirun", 0},
        Expected{
            "hydra", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}}, 1, 2, 1, -1, "MPICH hydra", 0},
        // srun --mpi=pmi2
        Expected{"slurm_pmi2", With(kSlurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}), 3, 4, 1, 1, "Slurm", 0},
        Expected{"flux",
                 {{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "2"}, {"FLUX_TASK_LOCAL_ID", "1"}},
                 1,
                 2,
                 1,
                 -1,
                 "Flux",
                 0},
        Expected{"tf_chief",
                 {{"TF_CONFIG", std::string(kCluster) + R"({"type": "chief", "index": 0}})"}},
                 0,
                 3,
                 -1,
                 -1,
                 "",
                 0},
        Expected{"tf_worker",
                 {{"TF_CONFIG", std::string(kCluster) + R"({"type": "worker", "index": 1}})"}},
                 2,
                 3,
                 -1,
                 -1,
                 "",
                 0},
        Expected{"tf_server",
                 {{"TF_CONFIG", std::string(kCluster) + R"({"type": "ps", "index": 0}})"}},
                 -1,
                 3,
                 -1,
                 -1,
                 "",
                 0},
        Expected{"tf_broken", {{"TF_CONFIG", "{\"cluster\": {"}}, -1, -1, -1, -1, "", 0},
        Expected{"tf_and_rank",
                 {{"TF_CONFIG", std::string(kCluster) + R"({"type": "worker", "index": 1}})"},
                  {"RANK", "0"},
                  {"WORLD_SIZE", "2"}},
                 0,
                 2,
                 -1,
                 -1,
                 "",
                 0}),
    [](const testing::TestParamInfo<Expected>& info) { return info.param.name; });

TEST(RankByArgument, CountsWhereNoVariableSaysIt) {
  TellRank(1, 3);
  LaunchedAs told = Ranks(Words({})), torchrun = Ranks(Words(kTorchrun));
  TellRank(-1, -1);
  EXPECT_EQ(told.rank, 1);
  EXPECT_EQ(told.world_size, 3);
  EXPECT_EQ(torchrun.rank, 5);
  EXPECT_EQ(torchrun.world_size, 8);
  EXPECT_EQ(Ranks(Words({})).rank, -1);
}

TEST(RunIds, AreOfTheLaunchWhoeverSaysSo) {
  Settings settings;
  EXPECT_EQ(RunId(settings, Words(With(kTorchrun, {{"TORCHELASTIC_RUN_ID", "nightly/7"}}))), "torchrun-nightly_7");
  EXPECT_EQ(RunId(settings, Words(kSlurm)), "slurm-77.0");
  EXPECT_EQ(RunId(settings, Words(With(kSlurm, kTorchrun))), "slurm-77.0");
  EXPECT_EQ(RunId(settings, Words(With(kSlurm, kOpenMpi))), "slurm-77-123");
  // "none" is what all torchruns are called that were given no name.
  EXPECT_EQ(RunId(settings, Words(kTorchrun)).find("torchrun-none"), std::string::npos);
  strcpy(settings.run_id, "mine");
  EXPECT_EQ(RunId(settings, Words(kSlurm)), "mine");
}

// On one node a launch is a process: two launches of one Slurm job are two runs.
// Open MPI 4 has numbers, of which the lower half is the job's within its launch; Open MPI 5 has names.
TEST(SpawnedWorlds, AreOfTheRunThatSpawnedThem) {
  auto of = [](const char* job, const char* parent) {
    return Words(With(kOpenMpi, {{"PMIX_NAMESPACE", job}, {"OMPI_PARENT_PORT", parent}}));
  };
  LauncherWords first = Words(With(kOpenMpi, {{"PMIX_NAMESPACE", "1800470529"}}));
  LauncherWords second = of("1800470530", "1800470529.1:3329464020");
  EXPECT_FALSE(Spawned(first).spawned);
  SpawnedAs as = Spawned(second);
  EXPECT_TRUE(as.spawned);
  EXPECT_EQ(as.world, 1u);
  EXPECT_EQ(as.parent_world, 0);
  EXPECT_EQ(as.parent_rank, 1);
  EXPECT_EQ(RunId(Settings{}, second), RunId(Settings{}, first));
  LauncherWords third = of("1800470531", "1800470530.0:1");  // by the spawned ones
  EXPECT_EQ(Spawned(third).parent_world, 1);
  EXPECT_EQ(RunId(Settings{}, third), RunId(Settings{}, first));

  LauncherWords named = of("prterun-vm-9581@3", "554762242.4:1970727060");
  EXPECT_EQ(Spawned(named).world, 2u);
  EXPECT_EQ(Spawned(named).parent_world, 1);
  EXPECT_EQ(Spawned(named).parent_rank, 4);
  EXPECT_EQ(LaunchedJob(named), "prterun-vm-9581@1");
  // each prun of a server that stays is a run
  EXPECT_EQ(LaunchedJob(of("prte-vm-9581@7", "554762246.0:1970727060")), "prte-vm-9581@6");
  EXPECT_EQ(LaunchedJob(Words(With(kOpenMpi, {{"PMIX_NAMESPACE", "prte-vm-9581@6"}}))), "prte-vm-9581@6");
  // an mpirun that a spawned rank has started inherits its environment
  EXPECT_FALSE(Spawned(of("1700000001", "1800470529.1:3329464020")).spawned);
  EXPECT_FALSE(Spawned(of("1700000002", "1800470529.1:3329464020")).spawned);
  EXPECT_FALSE(Spawned(of("slurm.pmix.77.0", "1.0:1")).spawned);
  EXPECT_FALSE(Spawned(of("1800470530", "")).spawned);
  EXPECT_FALSE(Spawned(of("1800470530", "port")).spawned);

  Variables hydra = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};
  EXPECT_FALSE(Spawned(Words(hydra)).spawned);
  SpawnedAs unknown = Spawned(Words(With(hydra, {{"PMI_SPAWNED", "1"}})));
  EXPECT_TRUE(unknown.spawned);
  EXPECT_EQ(unknown.world, 0u);
}

TEST(RunIds, OfLaunchesAfterEachOtherInOneSlurmJobDiffer) {
  Settings settings;
  Variables one_node = With(kTorchrun, {{"SLURM_JOB_ID", "77"}, {"SLURM_JOB_NUM_NODES", "1"}});
  std::string id = RunId(settings, Words(one_node));
  EXPECT_EQ(id.find("slurm-77-torchrun-"), 0u) << id;
  one_node["SLURM_JOB_NUM_NODES"] = "2";
  EXPECT_EQ(RunId(settings, Words(one_node)), "slurm-77");
}

TEST(TfConfigs, MayHaveWhatJsonMayHave) {
  TfTask task =
      ReadTfConfig(R"( {"x": [1, {"y": [null, true, -1.5e3, "\"}"]}], "task": {"index": "1", "type": "worker"},
    "cluster": {"worker": {"0": "a:1", "1": "b:1"}}} )");
  EXPECT_TRUE(task.valid);
  EXPECT_EQ(task.rank, 1);
  EXPECT_EQ(task.size, 2);
}

TEST(TfConfigs, ThatAreCutOffOrNestedTooDeepAreNone) {
  std::string text = std::string(kCluster) + R"({"type": "worker", "index": 1}})";
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(ReadTfConfig(std::string_view(text).substr(0, length)).valid) << length;
  EXPECT_TRUE(ReadTfConfig(text).valid);
  EXPECT_FALSE(ReadTfConfig(text + "}").valid);
  EXPECT_FALSE(ReadTfConfig(std::string(1 << 20, '[')).valid);
  EXPECT_FALSE(ReadTfConfig(R"({"task": {"type": "worker", "index": 0}})").valid);
}

TEST(TfConfigs, OfOddIndicesHaveNoRank) {
  for (const char* index : {"-1", "1.5", "99999999999", "4294967296", "true", "\"one\"", "[1]", "null"}) {
    TfTask task = ReadTfConfig(std::string(kCluster) + R"({"type": "worker", "index": )" + index + "}}");
    EXPECT_TRUE(task.valid) << index;
    EXPECT_EQ(task.rank, -1) << index;
  }
}

TEST(TfConfigs, AreKeptWhole) {
  std::string text =
      std::string(kCluster) + R"({"type": "worker", "index": 1}, "more": ")" + std::string(9000, 'x') + "\"}";
  EXPECT_EQ(Words({{"TF_CONFIG", text}}).TfConfig(), text);
  text.resize(100 << 10, ' ');
  LauncherWords words = Words({{"TF_CONFIG", text}});
  EXPECT_EQ(words.TfConfig(), "");
  EXPECT_EQ(words.tf_rank, 2);
}

}  // namespace
}  // namespace ddbg::shim
