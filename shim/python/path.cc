// How a Python interpreter comes to the bridge: by an entry in PYTHONPATH, put there before main. In any other program
// this is one system call at its start.
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/recorder/environment.h"
#include "shim/recorder/settings.h"

namespace ddbg::shim {
namespace {

constexpr char kVariable[] = "PYTHONPATH=";
constexpr char kFolder[] = "/ddbg/python";  // beside the library
constexpr char kModule[] = "/sitecustomize.py";

bool IsPython() {
  char exe[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
  if (size <= 0) return false;
  exe[size] = '\0';
  const char* slash = strrchr(exe, '/');
  return strncmp(slash ? slash + 1 : exe, "python", 6) == 0;
}

// The folder of the bridge, if it is there.
bool FindBridge(char (&path)[PATH_MAX]) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&FindBridge), &info) || !info.dli_fname || !realpath(info.dli_fname, path))
    return false;
  *strrchr(path, '/') = '\0';
  size_t size = strlen(path);
  if (size + sizeof(kFolder) + sizeof(kModule) > PATH_MAX) return false;
  strcpy(path + size, kFolder);
  size += sizeof(kFolder) - 1;
  strcpy(path + size, kModule);
  bool is_there = access(path, R_OK) == 0;
  path[size] = '\0';
  return is_there && !strchr(path, ':');
}

bool Has(const char* list, const char* folder) {
  size_t size = strlen(folder);
  for (const char* at = list; (at = strstr(at, folder)) != nullptr; at += size)
    if ((at == list || at[-1] == ':') && (at[size] == '\0' || at[size] == ':')) return true;
  return false;
}

[[gnu::constructor]] void LeadToBridge() {
  char folder[PATH_MAX];
  if (!IsPython() || IsSwitchedOff() || !WantsPython() || !FindBridge(folder)) return;
  const char* others = getenv("PYTHONPATH");
  if (others && Has(others, folder)) return;
  bool alone = !others || !*others;  // an empty entry behind a colon would be the working directory
  size_t bytes = sizeof(kVariable) + strlen(folder) + 1 + (alone ? 0 : strlen(others));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  char* entry = static_cast<char*>(memory);
  strcpy(entry, kVariable);
  strcat(entry, folder);
  if (!alone) strcat(strcat(entry, ":"), others);
  PutIntoEnvironment(entry);
}

}  // namespace
}  // namespace ddbg::shim
