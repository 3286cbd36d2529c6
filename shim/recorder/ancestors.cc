#include "shim/recorder/ancestors.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/recorder/proc_files.h"

namespace ddbg::shim {
namespace {

constexpr int kMostAbove = 16;

std::string ProcFile(int pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

bool IsLauncher(const std::string& name) {
  for (const char* launcher : {"mpirun", "orterun", "orted", "prted", "prterun", "hydra_pmi_proxy", "hydra_bstrap_pr",
                               "mpiexec", "slurmstepd", "torchrun", "pals_"})
    if (name.compare(0, strlen(launcher), launcher) == 0) return true;
  return false;
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

// Arguments are NUL-separated.
std::string CommandLine(int pid) { return ReadSmallFile(ProcFile(pid, "cmdline"), 65536); }

bool Contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

bool IsForkOf(const Ancestor& child, const Ancestor& parent) {
  if (child.stack_start > 1 && parent.stack_start > 1)
    return child.stack_start == parent.stack_start && child.code_start == parent.code_start;
  std::string exe = ReadLink(ProcFile(child.pid, "exe").c_str()), line = CommandLine(child.pid);
  return !exe.empty() && exe == ReadLink(ProcFile(parent.pid, "exe").c_str()) && line == CommandLine(parent.pid);
}

// Its command line is that of the fork server, which is a child of the program's own process.
bool IsOfForkServer(const std::string& line) { return Contains(line, "from multiprocessing.forkserver import main"); }

// How `process` came from its parent; "" if it is of another program.
const char* MethodOf(const Ancestor& process) {
  std::string line = CommandLine(process.pid);
  if (Contains(line, "--multiprocessing-fork")) return "spawn";
  if (IsOfForkServer(line)) return "forkserver";
  Ancestor parent;
  return process.parent > 1 && ReadProcess(process.parent, &parent) && IsForkOf(process, parent) ? "fork" : "";
}

}  // namespace

// /proc/PID/stat: the name is in brackets and may hold anything, so fields are counted after the last ')'.
bool ReadProcess(int pid, Ancestor* out) {
  std::string stat = ReadSmallFile(ProcFile(pid, "stat"));
  size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return false;
  out->pid = pid;
  out->name = stat.substr(open + 1, close - open - 1);
  const char* field = stat.c_str() + close + 1;
  for (int n = 3; n <= 28 && *field; ++n) {
    while (*field == ' ') ++field;
    if (n == 4) out->parent = atoi(field);
    if (n == 22) out->start_ticks = strtoull(field, nullptr, 10);
    if (n == 26) out->code_start = strtoull(field, nullptr, 10);
    if (n == 28) out->stack_start = strtoull(field, nullptr, 10);
    while (*field && *field != ' ') ++field;
  }
  return true;
}

std::string StartMethod() {
  Ancestor self;
  return ReadProcess(getpid(), &self) ? MethodOf(self) : "";
}

Ancestor FirstOfProgram() {
  Ancestor current;
  ReadProcess(getpid(), &current);
  for (int above = 0; above < kMostAbove && current.parent > 1 && *MethodOf(current); ++above) {
    Ancestor parent;
    if (!ReadProcess(current.parent, &parent)) break;
    current = parent;
  }
  return current;
}

Ancestor FindLauncher(bool mpi) {
  Ancestor parent, current;
  if (!ReadProcess(getppid(), &parent)) return parent;
  current = parent;
  for (int above = 0; above < kMostAbove; ++above) {
    if (IsLauncher(current.name) && !(mpi && current.name == "torchrun")) return current;
    if (current.parent <= 1 || !ReadProcess(current.parent, &current)) break;
  }
  return parent;
}

std::string StartTime(const Ancestor& process) {
  return Utc(BootTime() + static_cast<time_t>(process.start_ticks / sysconf(_SC_CLK_TCK)));
}

std::string CommandName(int pid) { return ReadFirstLine(ProcFile(pid, "comm")); }

bool WasStartedWith(int pid, const std::string& variable) {
  std::string environment = std::string(1, '\0') + ReadSmallFile(ProcFile(pid, "environ"));
  return environment.find(std::string(1, '\0') + variable + "=") != std::string::npos;
}

}  // namespace ddbg::shim
