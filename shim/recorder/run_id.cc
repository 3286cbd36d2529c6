#include "shim/recorder/run_id.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/recorder/proc_files.h"

namespace ddbg::shim {
namespace {

struct Ancestor {
  int pid = 0;
  int parent = 0;
  uint64_t start_ticks = 0;  // since boot, sysconf(_SC_CLK_TCK) a second
  std::string name;
};

// /proc/PID/stat: the name is in brackets and may hold anything, so fields are counted after the last ')'.
bool ReadStat(int pid, Ancestor* out) {
  std::string stat = ReadSmallFile("/proc/" + std::to_string(pid) + "/stat");
  size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return false;
  out->pid = pid;
  out->name = stat.substr(open + 1, close - open - 1);
  const char* field = stat.c_str() + close + 1;
  for (int n = 3; n <= 22 && *field; ++n) {
    while (*field == ' ') ++field;
    if (n == 4) out->parent = atoi(field);
    if (n == 22) out->start_ticks = strtoull(field, nullptr, 10);
    while (*field && *field != ' ') ++field;
  }
  return true;
}

bool IsLauncher(const std::string& name) {
  for (const char* launcher : {"mpirun", "orterun", "orted", "prted", "prterun", "hydra_pmi_proxy", "hydra_bstrap_pr",
                               "mpiexec", "slurmstepd", "torchrun", "pals_"})
    if (name.compare(0, strlen(launcher), launcher) == 0) return true;
  return false;
}

// The nearest launcher above this process; the parent if none is known by name.
Ancestor FindLauncher() {
  Ancestor parent, current;
  if (!ReadStat(getppid(), &parent)) return parent;
  current = parent;
  for (int depth = 0; depth < 16; ++depth) {
    if (IsLauncher(current.name)) return current;
    if (current.parent <= 1 || !ReadStat(current.parent, &current)) break;
  }
  return parent;
}

std::string Utc(time_t seconds) {
  tm parts;
  gmtime_r(&seconds, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &parts);
  return text;
}

time_t BootTime() {
  std::string stat = ReadSmallFile("/proc/stat");
  size_t at = stat.find("btime ");
  return at == std::string::npos ? 0 : strtoll(stat.c_str() + at + 6, nullptr, 10);
}

std::string StartTime(const Ancestor& process) {
  return Utc(BootTime() + static_cast<time_t>(process.start_ticks / sysconf(_SC_CLK_TCK)));
}

// File names are made of it.
std::string Sanitized(std::string id) {
  for (char& c : id)
    if (c == '/' || c == ' ' || static_cast<unsigned char>(c) < 32) c = '_';
  while (!id.empty() && id[0] == '.') id.erase(0, 1);
  return id.empty() ? "run" : id;
}

}  // namespace

std::string CommandName(int pid) { return ReadFirstLine("/proc/" + std::to_string(pid) + "/comm"); }

std::string LauncherName(const LauncherWords& words) {
  if (*words.Get("TORCHELASTIC_RUN_ID")) return "torchrun";
  if (*words.Get("OMPI_COMM_WORLD_RANK")) return "Open MPI mpirun";
  if (*words.Get("PMI_RANK")) return "MPICH hydra";
  if (*words.Get("SLURM_PROCID")) return "Slurm";
  return "";
}

std::string RunId(const Settings& settings, const LauncherWords& words) {
  if (settings.run_id[0]) return Sanitized(settings.run_id);
  std::string torch = words.Get("TORCHELASTIC_RUN_ID");
  if (!torch.empty() && torch != "none") return Sanitized("torchrun-" + torch);
  if (*words.Get("SLURM_JOB_ID"))
    return Sanitized(std::string("slurm-") + words.Get("SLURM_JOB_ID") + "." + words.Get("SLURM_STEP_ID"));
  if (!torch.empty() || *words.Get("OMPI_COMM_WORLD_RANK") || *words.Get("PMI_RANK")) {
    Ancestor launcher = FindLauncher();
    const char* kind = !torch.empty() ? "torchrun" : *words.Get("OMPI_COMM_WORLD_RANK") ? "ompi" : "hydra";
    std::string job = words.Get("PMIX_NAMESPACE");
    if (job.empty()) job = std::to_string(launcher.pid);
    return Sanitized(std::string(kind) + "-" + job + "-" + StartTime(launcher));
  }
  // Started as ranks by a script or a program of the user's own: who started them is what they share.
  Ancestor self, parent;
  ReadStat(getpid(), &self);
  if (*words.Get("RANK") && *words.Get("WORLD_SIZE") && ReadStat(getppid(), &parent) && parent.pid > 1)
    return Sanitized(parent.name + "-" + std::to_string(parent.pid) + "-" + StartTime(parent));
  return Sanitized(self.name + "-" + std::to_string(getpid()) + "-" + StartTime(self));
}

uint32_t AttemptId(const LauncherWords& words) {
  for (const char* name : {"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"})
    if (*words.Get(name)) return strtoul(words.Get(name), nullptr, 10);
  return 0;
}

}  // namespace ddbg::shim
