#include "shim/nccl/plugin/offer.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <atomic>
#include <utility>

#include "shim/nccl/library.h"
#include "shim/nccl/plugin/abi.h"
#include "shim/nccl/plugin/exports.h"
#include "shim/recorder/environment.h"
#include "shim/recorder/settings.h"

namespace ddbg::shim::nccl::plugin {
namespace {

constexpr char kVariable[] = "NCCL_PROFILER_PLUGIN";
constexpr size_t kLongestPath = 254;  // NCCL cuts what is longer (MAX_STR_LEN in plugin_open.cc)

constinit std::atomic<const void*> g_others[kVersions + 1] = {};
constinit char g_entry[sizeof(kVariable) + PATH_MAX] = "";  // NCCL_PROFILER_PLUGIN=<value>

bool IsSwitchedOn() {
  PluginMode mode = ReadPluginMode();
  return !IsSwitchedOff() && (mode == PluginMode::kOn || mode == PluginMode::kTimes);
}

bool OwnPath(char (&path)[PATH_MAX]) {
  Dl_info info;
  return dladdr(&g_others, &info) && info.dli_fname && realpath(info.dli_fname, path);
}

[[gnu::constructor]] void Offer() {
  char path[PATH_MAX];
  if (!IsSwitchedOn() || getenv(kVariable)) return;
  bool by_path = OwnPath(path) && strlen(path) <= kLongestPath;
  strcpy(g_entry, kVariable);
  strcat(g_entry, "=");
  strcat(g_entry, by_path ? path : "STATIC_PLUGIN");
  PutIntoEnvironment(g_entry);
}

// Ours is named because the switch says so: what NCCL would have found by itself is still to be used.
bool TookTheDefaultsPlace() {
  char path[PATH_MAX];
  const char* named = getenv(kVariable);
  return IsSwitchedOn() && named && (g_entry[0] || (OwnPath(path) && !strcmp(named, path)));
}

void FindDefault() {
  static std::atomic<bool> done{false};
  if (!TookTheDefaultsPlace() || done.exchange(true, std::memory_order_relaxed)) return;
  void* library = dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
  char name[] = "ncclProfiler_v0";
  for (int version = 1; library && version <= kVersions; ++version) {
    name[sizeof(name) - 2] = static_cast<char>('0' + version);
    void* found = dlsym(library, name);
    if (found && !IsOwnCode(found)) g_others[version].store(found, std::memory_order_relaxed);
  }
  dlerror();
}

bool HasAnyOther() {
  for (const auto& other : g_others)
    if (other.load(std::memory_order_relaxed)) return true;
  return false;
}

// Both are of one version: where there is another plugin, NCCL goes down to one that it has.
template <int kVersion>
void* AnswerOf(void* found) {
  if (!found) return nullptr;
  void* own = const_cast<void*>(ExportOf(kVersion));
  if (!IsWanted()) return IsOwnCode(found) ? nullptr : found;
  if (!IsOwnCode(found)) {
    g_others[kVersion].store(found, std::memory_order_relaxed);
    return own;
  }
  FindDefault();
  return HasAnyOther() && !g_others[kVersion].load(std::memory_order_relaxed) ? nullptr : own;
}

template <int... kVersion>
Answer* Pick(int version, std::integer_sequence<int, kVersion...>) {
  static constexpr Answer* kAnswers[] = {AnswerOf<kVersion + 1>...};
  return kAnswers[version - 1];
}

}  // namespace

bool IsWanted() noexcept {
  PluginMode mode = ReadPluginMode();
  if (IsSwitchedOff() || mode == PluginMode::kOff) return false;
  if (mode != PluginMode::kNotSaid) return true;
  const char* named = getenv(kVariable);
  if (!named || !*named) return false;
  if (strstr(named, "libddbg")) return true;
  return strncasecmp(named, "STATIC_PLUGIN", strlen(named)) == 0 && !g_copies.Any();
}

Answer* AnswerFor(const char* name) noexcept {
  constexpr char kPrefix[] = "ncclProfiler_v";
  if (strncmp(name, kPrefix, sizeof(kPrefix) - 1) != 0) return nullptr;
  int version = name[sizeof(kPrefix) - 1] - '0';
  bool is_ours = version >= 1 && version <= kVersions && name[sizeof(kPrefix)] == '\0';
  return is_ours ? Pick(version, std::make_integer_sequence<int, kVersions>()) : nullptr;
}

const void* OtherPlugin(int version) noexcept { return g_others[version].load(std::memory_order_relaxed); }

}  // namespace ddbg::shim::nccl::plugin
