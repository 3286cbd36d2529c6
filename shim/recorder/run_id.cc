#include "shim/recorder/run_id.h"

#include <string.h>

#include "shim/recorder/ancestors.h"
#include "shim/recorder/spawned.h"

namespace ddbg::shim {
namespace {

// File names are made of it.
std::string Sanitized(std::string id) {
  for (char& c : id)
    if (c == '/' || c == ' ' || static_cast<unsigned char>(c) < 32) c = '_';
  while (!id.empty() && id[0] == '.') id.erase(0, 1);
  return id.empty() ? "run" : id;
}

std::string NameOf(const Ancestor& process) {
  return process.name + "-" + std::to_string(process.pid) + "-" + StartTime(process);
}

// Behind Slurm's number, since one job may start several launches after each other. `own`: the launch's own name, which
// on several nodes must be one that all of them know.
std::string OfSlurm(const LauncherWords& words, const std::string& own) {
  std::string id = std::string("slurm-") + words.Get("SLURM_JOB_ID");
  if (words.Has("PMIX_NAMESPACE") && words.Has("OMPI_COMM_WORLD_RANK")) return id + "-" + LaunchedJob(words);
  if (words.Has("SLURM_STEP_ID")) id += std::string(".") + words.Get("SLURM_STEP_ID");
  bool one_node = !strcmp(words.Get("SLURM_JOB_NUM_NODES"), "1");
  return one_node && !own.empty() ? id + "-" + own : id;
}

// By mpirun, torchrun and the like: one process of this node has started all of its ranks. "" where Slurm or nobody
// has.
std::string OfLauncher(const LauncherWords& words) {
  bool torchrun = words.Has("TORCHELASTIC_RUN_ID"), open_mpi = words.Has("OMPI_COMM_WORLD_RANK");
  if (LauncherName(words) == "Slurm" || !(torchrun || open_mpi || words.Has("PMI_RANK"))) return "";
  // Several torchruns that mpirun has started are one job.
  std::string job = open_mpi ? LaunchedJob(words) : "";
  Ancestor launcher = FindLauncher(!job.empty());
  if (job.empty()) job = std::to_string(launcher.pid);
  return std::string(torchrun ? "torchrun-" : open_mpi ? "ompi-" : "hydra-") + job + "-" + StartTime(launcher);
}

// Started as ranks by a script or a program of the user's own: who started them is what they share. Ranks that a
// program has made of itself (torch.multiprocessing.spawn) share its first process.
std::string OfProgram(const LauncherWords& words) {
  bool told_ranks = (words.Has("RANK") && words.Has("WORLD_SIZE")) || words.tf_size > 1 || words.told_size > 1;
  Ancestor first = FirstOfProgram(), parent;
  bool made_own_ranks =
      !StartMethod().empty() && !WasStartedWith(first.pid, "RANK") && !WasStartedWith(first.pid, "TF_CONFIG");
  if (told_ranks && !made_own_ranks && first.parent > 1 && ReadProcess(first.parent, &parent)) return NameOf(parent);
  return NameOf(first);
}

}  // namespace

std::string RunId(const Settings& settings, const LauncherWords& words) {
  if (settings.run_id[0]) return Sanitized(settings.run_id);
  std::string torch = words.Get("TORCHELASTIC_RUN_ID");
  if (!torch.empty() && torch != "none") return Sanitized("torchrun-" + torch);
  std::string own = OfLauncher(words);
  if (own.empty() && LauncherName(words) != "Slurm") own = OfProgram(words);
  return Sanitized(words.Has("SLURM_JOB_ID") ? OfSlurm(words, own) : own.empty() ? OfProgram(words) : own);
}

}  // namespace ddbg::shim
