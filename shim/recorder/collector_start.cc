#include "shim/recorder/collector_start.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "shim/recorder/identity.h"

namespace ddbg::shim {
namespace {

constexpr size_t kStackBytes = 64 * 1024;

struct Launch {
  const char* path;
  char* const* argv;
  char* const* envp;
  char* stack;  // of the second process
  volatile int failed;
};

bool IsExecutable(const std::string& path) { return !path.empty() && access(path.c_str(), X_OK) == 0; }

// The environment the process began with, less what must not reach the collector.
std::vector<std::string> CollectorEnvironment() {
  std::vector<std::string> kept;
  std::string all = InitialEnvironment();
  for (size_t at = 0; at < all.size();) {
    size_t end = all.find('\0', at);
    if (end == std::string::npos) end = all.size();
    std::string entry = all.substr(at, end - at);
    bool dropped = false;
    for (const char* name : {"LD_PRELOAD=", "LD_AUDIT=", "LD_LIBRARY_PATH=", "MALLOC_", "OMPI_", "PMIX_", "PMI_"})
      dropped = dropped || entry.compare(0, strlen(name), name) == 0;
    if (!dropped && !entry.empty()) kept.push_back(entry);
    at = end + 1;
  }
  return kept;
}

// In the collector-to-be; memory is shared with the program, which is paused in this thread only.
int ExecCollector(void* argument) {
  Launch* launch = static_cast<Launch*>(argument);
  setsid();
  // Signals stay blocked, as in the sender: a handler of the program must not run here. The collector unblocks them.
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 3u, ~0u, 0u) != 0)
#endif
    for (int fd = 3; fd < 4096; ++fd) close(fd);
  execve(launch->path, launch->argv, launch->envp);
  launch->failed = 1;
  _exit(127);
}

int ForkAgain(void* argument) {
  Launch* launch = static_cast<Launch*>(argument);
  int pid = clone(ExecCollector, launch->stack + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  if (pid < 0) launch->failed = 1;
  _exit(0);
}

}  // namespace

std::string FindCollector(const char* given) {
  if (given && *given) return IsExecutable(given) ? given : "";
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&FindCollector), &info) || !info.dli_fname) return "";
  std::string dir = info.dli_fname;
  size_t slash = dir.rfind('/');
  dir = slash == std::string::npos ? "." : dir.substr(0, slash);
  for (const char* place : {"/ddbg-collector", "/../bin/ddbg-collector"})
    if (IsExecutable(dir + place)) return dir + place;
  return "";
}

bool StartCollector(const std::string& path, const std::string& socket) {
  std::vector<std::string> environment = CollectorEnvironment();
  std::vector<char*> envp;
  for (std::string& entry : environment) envp.push_back(entry.data());
  envp.push_back(nullptr);
  std::string name = "ddbg-collector", option = "--socket", target = socket;
  char* argv[] = {name.data(), option.data(), target.data(), nullptr};

  void* stacks = mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED) return false;
  char* base = static_cast<char*>(stacks);
  Launch launch{path.c_str(), argv, envp.data(), base + kStackBytes, 0};
  // No signal at its end (the program's SIGCHLD handler stays quiet) and never exec'ed, so that stays so; only
  // __WCLONE waits see it. It starts the collector as its own child and is gone at once.
  int pid = clone(ForkAgain, base + kStackBytes, CLONE_VM | CLONE_VFORK, &launch);
  if (pid > 0) waitpid(pid, nullptr, __WCLONE);
  munmap(stacks, 2 * kStackBytes);
  return pid > 0 && !launch.failed;
}

}  // namespace ddbg::shim
