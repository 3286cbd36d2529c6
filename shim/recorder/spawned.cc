#include "shim/recorder/spawned.h"

#include <stdlib.h>
#include <string.h>

namespace ddbg::shim {
namespace {

// A job of Open MPI: the number of its launch and, from 1, its own in it. As one number (Open MPI 4: 32 bits, the job's
// in the lower half), or as a name ("prterun-HOST-PID@2", Open MPI 5).
struct Job {
  std::string launch;  // "" if there is no number
  uint32_t number = 0;
};

Job JobNamed(const std::string& name) {
  size_t at = name.rfind('@');
  const char* digits = name.c_str() + (at == std::string::npos ? 0 : at + 1);
  char* end;
  unsigned long long number = strtoull(digits, &end, 10);
  if (end == digits || *end || number == 0 || number > UINT32_MAX) return {};
  if (at != std::string::npos) return {name.substr(0, at), static_cast<uint32_t>(number)};
  return {std::to_string(number >> 16), static_cast<uint32_t>(number & 0xffff)};
}

}  // namespace

SpawnedAs Spawned(const LauncherWords& words) {
  SpawnedAs as;
  if (words.Has("PMI_RANK") && !strcmp(words.Get("PMI_SPAWNED"), "1"))
    as.spawned = true;  // MPICH's hydra does not say by whom
  Job job = JobNamed(words.Get("PMIX_NAMESPACE"));
  if (!words.Has("OMPI_PARENT_PORT") || job.launch.empty() || job.number < 2) return as;
  // JOB.RANK:…, both of the root of the spawn; the job as a number in all releases.
  char* end;
  unsigned long long parent = strtoull(words.Get("OMPI_PARENT_PORT"), &end, 10);
  bool by_number = !strchr(words.Get("PMIX_NAMESPACE"), '@');
  if (*end != '.' || (by_number && std::to_string(parent >> 16) != job.launch)) return as;
  as.spawned = true;
  as.world = job.number - 1;
  as.parent_world = static_cast<int32_t>(parent & 0xffff) - 1;
  as.parent_rank = static_cast<int32_t>(strtol(end + 1, nullptr, 10));
  return as;
}

std::string LaunchedJob(const LauncherWords& words) {
  std::string name = words.Get("PMIX_NAMESPACE");
  if (!Spawned(words).world) return name;
  Job job = JobNamed(name);
  size_t at = name.rfind('@');
  if (at == std::string::npos) return std::to_string(strtoull(name.c_str(), nullptr, 10) >> 16 << 16 | 1);
  // Of a server that stays, every launch is a job of its own.
  uint32_t first = job.launch.starts_with("prterun") ? 1 : static_cast<uint32_t>(Spawned(words).parent_world) + 1;
  return job.launch + "@" + std::to_string(first);
}

}  // namespace ddbg::shim
