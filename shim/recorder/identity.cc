#include "shim/recorder/identity.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <protozero/pbf_writer.hpp>

#include "proto/call.h"
#include "shim/recorder/ancestors.h"
#include "shim/recorder/clock.h"
#include "shim/recorder/proc_files.h"
#include "shim/recorder/run_id.h"
#include "shim/recorder/spawned.h"

namespace ddbg::shim {
namespace {

bool IsSecret(const std::string& name) {
  for (const char* word : {"KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH", "COOKIE", "PRIVATE"})
    if (strcasestr(name.c_str(), word)) return true;
  return false;
}

void AddKeyValue(protozero::pbf_writer& parent, uint32_t field, const std::string& key, const std::string& value) {
  protozero::pbf_writer message(parent, field);
  message.add_string(1, key);
  message.add_string(2, value);
}

void AddEnvironment(protozero::pbf_writer& process) {
  std::string environment = InitialEnvironment();
  for (size_t at = 0; at < environment.size();) {
    size_t end = environment.find('\0', at);
    if (end == std::string::npos) end = environment.size();
    std::string entry = environment.substr(at, end - at);
    size_t equals = entry.find('=');
    if (equals != std::string::npos && equals > 0) {
      std::string name = entry.substr(0, equals);
      AddKeyValue(process, 16, name, IsSecret(name) ? "[hidden]" : entry.substr(equals + 1, 4096));
    }
    at = end + 1;
  }
}

void AddArguments(protozero::pbf_writer& process) {
  std::string arguments = ReadSmallFile("/proc/self/cmdline", 65536);
  for (size_t at = 0; at < arguments.size();) {
    size_t end = arguments.find('\0', at);
    if (end == std::string::npos) end = arguments.size();
    process.add_string(15, arguments.substr(at, end - at));
    at = end + 1;
  }
}

// The commit a working directory is at, without running git: .git/HEAD, a ref file or packed-refs.
std::string GitCommit(std::string dir) {
  for (; !dir.empty(); dir = dir.substr(0, dir.rfind('/'))) {
    std::string head = ReadFirstLine(dir + "/.git/HEAD");
    if (head.empty()) continue;
    if (head.compare(0, 5, "ref: ") != 0) return head;
    std::string ref = head.substr(5);
    std::string commit = ReadFirstLine(dir + "/.git/" + ref);
    if (!commit.empty()) return commit;
    std::string packed = ReadSmallFile(dir + "/.git/packed-refs");
    size_t at = packed.find(" " + ref + "\n");
    return at != std::string::npos && at >= 40 ? packed.substr(at - 40, 40) : "";
  }
  return "";
}

uint64_t TimeNamespace() {
  struct stat status;
  return stat("/proc/self/ns/time", &status) == 0 ? status.st_ino : 0;
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

// A node's number is one higher there: 0 is what a trace of before says.
void AddRanks(protozero::pbf_writer& process, const LauncherWords& words) {
  LaunchedAs as = Ranks(words);
  process.add_sint32(3, as.rank);
  process.add_sint32(4, as.world_size);
  process.add_sint32(5, as.local_rank);
  for (int i = 0; i < kLauncherVariableCount; ++i)
    if (words.value[i][0]) AddKeyValue(process, 6, kLauncherVariables[i], words.value[i]);
  if (!words.TfConfig().empty()) AddKeyValue(process, 6, "TF_CONFIG", std::string(words.TfConfig()));
  if (as.node_rank >= 0) process.add_sint32(29, as.node_rank + 1);
}

void AddSpawned(protozero::pbf_writer& process, const LauncherWords& words) {
  SpawnedAs as = Spawned(words);
  if (!as.spawned) return;
  protozero::pbf_writer spawned(process, 31);
  spawned.add_uint32(1, as.world);
  spawned.add_sint32(2, as.parent_world);
  spawned.add_sint32(3, as.parent_rank);
}

}  // namespace

std::string InitialEnvironment() { return ReadSmallFile("/proc/self/environ"); }

std::string EncodeProcess(const Settings& settings, const LauncherWords& words, const RegionHeader& header,
                          const std::string& stacks) {
  std::string chunk;
  protozero::pbf_writer writer(chunk);
  {
    protozero::pbf_writer packet(writer, 1);
    protozero::pbf_writer process(packet, 1);
    process.add_string(1, RunId(settings, words));
    process.add_uint32(2, AttemptId(words));
    AddRanks(process, words);
    process.add_string(7, HostName());
    process.add_string(8, ReadFirstLine("/etc/machine-id"));
    process.add_string(9, ReadFirstLine("/proc/sys/kernel/random/boot_id"));
    process.add_uint64(10, TimeNamespace());
    process.add_sint32(11, header.pid);
    process.add_sint32(12, getppid());
    process.add_string(13, CommandName(getppid()));
    process.add_string(14, ReadLink("/proc/self/exe"));
    AddArguments(process);
    AddEnvironment(process);
    std::string cwd = ReadLink("/proc/self/cwd");
    process.add_string(17, cwd);
    process.add_string(18, GitCommit(cwd));
    process.add_sint64(19, header.clock_start.realtime_ns);
    process.add_sint64(20, header.clock_start.monotonic_ns);
    process.add_string(21, ClockName(header.clock_kind));
    process.add_string(22, stacks);
    process.add_string(23, LauncherName(words));
    process.add_string(24, settings.dir);
    for (const CallInfo& call : kCalls) process.add_string(25, call.name.data(), call.name.size());
    process.add_string(26, DDBG_VERSION);
    process.add_uint64(27, settings.budget_bytes);
    if (!settings.telemetry) process.add_bool(28, true);
    if (std::string method = StartMethod(); !method.empty()) process.add_string(30, method);
    AddSpawned(process, words);
  }
  return chunk;
}

}  // namespace ddbg::shim
