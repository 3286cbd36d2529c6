#include "shim/recorder/launcher.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

#include "shim/recorder/tf_config.h"

namespace ddbg::shim {
namespace {

std::atomic<int32_t> g_told_rank{-1}, g_told_size{-1};

constexpr size_t kMostTfConfigBytes = 64 << 10;
constexpr uint32_t kFirstSpecialStep = 0xfffffff0;  // of Slurm: batch script, extern, interactive

// −1 of what is no whole number of 0 to 2³¹−1.
int32_t Number(const char* text) {
  char* end;
  long number = strtol(text, &end, 10);
  return end != text && *end == 0 && number >= 0 && number <= INT_MAX ? static_cast<int32_t>(number) : -1;
}

int32_t FirstNumber(const LauncherWords& words, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (int32_t number = Number(words.Get(name)); number >= 0) return number;
  return -1;
}

bool AnyStartsWith(const char* start) {
  for (char** entry = environ; entry && *entry; ++entry)
    if (!strncmp(*entry, start, strlen(start))) return true;
  return false;
}

void KeepTfConfig(LauncherWords* words) {
  words->tf_rank = words->tf_size = -1;
  const char* text = getenv("TF_CONFIG");
  if (!text) return;
  size_t bytes = strlen(text);
  TfTask task = ReadTfConfig({text, bytes});
  words->tf_rank = task.rank;
  words->tf_size = task.size;
  if (bytes == 0 || bytes > kMostTfConfigBytes) return;
  void* copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return;
  memcpy(copy, text, bytes);
  words->tf_config = static_cast<const char*>(copy);
  words->tf_config_bytes = static_cast<uint32_t>(bytes);
}

// What a batch script has of Slurm's task variables is of the script itself: task 0 of all that the job may start.
bool IsSlurmTask(const LauncherWords& words) {
  if (!words.Has("SLURM_PROCID") || words.batch) return false;
  const char* step = words.Get("SLURM_STEP_ID");
  return !*step || strtoul(step, nullptr, 10) < kFirstSpecialStep;
}

bool HasTorchRank(const LauncherWords& words) {
  return Number(words.Get("RANK")) >= 0 && Number(words.Get("WORLD_SIZE")) >= 0;
}

int32_t OfSlurm(const LauncherWords& words, std::initializer_list<const char*> names) {
  return IsSlurmTask(words) ? FirstNumber(words, names) : -1;
}

template <class... Numbers>
int32_t FirstKnown(Numbers... numbers) {
  for (int32_t number : {numbers...})
    if (number >= 0) return number;
  return -1;
}

}  // namespace

const char* LauncherWords::Get(const char* name) const {
  for (int i = 0; i < kLauncherVariableCount; ++i)
    if (!strcmp(kLauncherVariables[i], name)) return value[i];
  return "";
}

LauncherWords ReadLauncherWords() {
  LauncherWords words = {};
  for (int i = 0; i < kLauncherVariableCount; ++i) {
    const char* value = getenv(kLauncherVariables[i]);
    if (value) strncpy(words.value[i], value, sizeof(words.value[i]) - 1);
  }
  words.accelerate = AnyStartsWith("ACCELERATE_");
  const char* environment = getenv("ENVIRONMENT");  // Slurm's word for it
  words.batch = environment && !strcmp(environment, "BATCH") && !words.Has("SLURM_STEP_ID");
  KeepTfConfig(&words);
  words.told_rank = g_told_rank.load(std::memory_order_relaxed);
  words.told_size = g_told_size.load(std::memory_order_relaxed);
  return words;
}

void TellRank(int32_t rank, int32_t world_size) noexcept {
  g_told_rank.store(rank, std::memory_order_relaxed);
  g_told_size.store(world_size, std::memory_order_relaxed);
}

LaunchedAs Ranks(const LauncherWords& words) {
  LaunchedAs as;
  as.rank = FirstKnown(HasTorchRank(words) ? Number(words.Get("RANK")) : -1,
                       FirstNumber(words, {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "PALS_RANKID",
                                           "FLUX_TASK_RANK", "HOROVOD_RANK"}),
                       OfSlurm(words, {"SLURM_PROCID"}), Number(words.Get("RANK")), words.tf_rank, words.told_rank);
  as.world_size = FirstKnown(
      FirstNumber(words, {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "FLUX_JOB_SIZE", "HOROVOD_SIZE"}),
      OfSlurm(words, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}), words.tf_size, words.told_size);
  as.local_rank = FirstKnown(FirstNumber(words, {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                                 "PALS_LOCAL_RANKID", "FLUX_TASK_LOCAL_ID", "HOROVOD_LOCAL_RANK"}),
                             OfSlurm(words, {"SLURM_LOCALID"}));
  as.node_rank = FirstKnown(FirstNumber(words, {"GROUP_RANK", "NODE_RANK", "HOROVOD_CROSS_RANK", "PALS_NODEID"}),
                            OfSlurm(words, {"SLURM_NODEID"}));
  return as;
}

uint32_t AttemptId(const LauncherWords& words) {
  int32_t slurm = FirstNumber(words, {"SLURM_RESTART_COUNT"}),
          elastic = FirstNumber(words, {"TORCHELASTIC_RESTART_COUNT"});
  if (elastic < 0 || slurm <= 0) return static_cast<uint32_t>(FirstKnown(elastic, slurm, 0));
  // Slurm starts a torchrun again that counts from 0: behind all restarts that the one before can have had.
  int32_t each = FirstKnown(FirstNumber(words, {"TORCHELASTIC_MAX_RESTARTS"}), 0);
  return static_cast<uint32_t>(slurm) * (static_cast<uint32_t>(each) + 1) + static_cast<uint32_t>(elastic);
}

std::string LauncherName(const LauncherWords& words) {
  if (words.accelerate && HasTorchRank(words)) return "accelerate";
  if (words.Has("TORCHELASTIC_RUN_ID")) return "torchrun";
  if (words.Has("HOROVOD_RANK")) return "Horovod";
  if (words.Has("OMPI_COMM_WORLD_RANK")) return "Open MPI mpirun";
  if (words.Has("PALS_RANKID")) return "PALS";
  if (words.Has("FLUX_TASK_RANK")) return "Flux";
  if (words.Has("PMI_RANK") && words.Has("MPI_LOCALRANKID")) return "MPICH hydra";  // which Slurm may have started
  if (IsSlurmTask(words)) return "Slurm";
  if (words.Has("PMI_RANK")) return "MPICH hydra";
  if (words.Has("PMIX_RANK")) return "PMIx";
  return "";
}

}  // namespace ddbg::shim
