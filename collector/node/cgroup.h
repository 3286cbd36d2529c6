// The cgroups of a process, of version 1 and 2, and their counters (cgroups(7), the kernel's cgroup-v2.rst).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/node/proc_text.h"
#include "collector/unique_fd.h"

namespace ddbg::collector {

// A cgroup in one hierarchy. `name` is how files speak of it (ddbg.proto, Placement).
struct CgroupPlace {
  std::string controller;  // "cpu", "memory", "freezer" of version 1; "" of version 2
  std::string path;        // "/job/1", as /proc/PID/cgroup has it

  std::string name() const { return controller.empty() ? path : controller + ":" + path; }
  bool operator==(const CgroupPlace&) const = default;
};

// Where a hierarchy is mounted: what lies below `root` of it is at `point`.
struct CgroupMount {
  std::string controller;  // as above; "cpu,cpuacct" becomes a mount for each of ours
  std::string root, point;
};

// /proc/PID/cgroup: hierarchy-ID:controllers:path.
std::vector<CgroupPlace> ParseCgroups(std::string_view text);

// /proc/PID/mountinfo.
std::vector<CgroupMount> ParseCgroupMounts(std::string_view text);

// The directory of a cgroup; "" if it is not mounted where we can see it.
std::string DirectoryOf(const CgroupPlace& place, const std::vector<CgroupMount>& mounts);

class Cgroup {
 public:
  explicit Cgroup(CgroupPlace place, const std::string& directory);

  bool exists() const { return static_cast<bool>(directory_); }
  const CgroupPlace& place() const { return place_; }

  // What can be read now; empty if it is gone.
  std::vector<MetricValue> Read() const;

  // Has it a limit of its own on CPU time or memory?
  bool IsLimited() const;

 private:
  void ReadCpu(std::vector<MetricValue>* values) const;
  void ReadMemory(std::vector<MetricValue>* values) const;
  void ReadFreezer(std::vector<MetricValue>* values) const;

  CgroupPlace place_;
  UniqueFd directory_;
};

// The cgroups that matter to a process: its own in each hierarchy, and those above that have a limit. Own ones first.
std::vector<CgroupPlace> PlacesOf(pid_t pid, const std::vector<CgroupMount>& mounts);

// The values that texts of these files give: for tests on recorded ones.
void ParseCpuStat(std::string_view text, std::vector<MetricValue>* values);
std::optional<int64_t> ParseQuota(std::string_view cpu_max);  // milli-CPUs of "200000 100000"; 0 of "max 100000"

}  // namespace ddbg::collector
