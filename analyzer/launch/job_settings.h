// What of a process's surroundings ought to be the same on all ranks of a job: variables that its communication
// libraries read, addresses, versions and builds of libraries and of the program. Not what differs by design: ranks,
// devices, names of hosts, what a launcher tells each process for itself. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct JobSetting {
  enum Sort {
    kVersion,   // of a library
    kBuild,     // of a library or the program, by build id or commit; absent: nothing is known
    kAddress,   // where the ranks are to meet
    kVariable,  // absent: not set
  } sort = kVariable;
  std::string key;  // "NCCL's version", "the build of libmpi.so.40", "MASTER_ADDR"
  std::string value;
};

// Key of what TF_CONFIG says of all; which task a process is differs.
inline constexpr const char* kTfCluster = "the cluster in TF_CONFIG";

// By sort, then key; each key once.
std::vector<JobSetting> SettingsOf(const Process& process);

// Which libraries read a variable.
enum class SettingReader { kAny, kMpi, kNccl };
bool Concerns(const JobSetting& setting, SettingReader reader);

// Is a variable one that ought to be the same on all ranks?
bool OughtToBeEqual(std::string_view variable);

}  // namespace ddbg::analyzer
