#include "shim/recorder/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/recorder/say.h"

namespace ddbg::shim {
namespace {

void Copy(const char* value, char* out, size_t size, const char* name) {
  if (!value) return;
  if (strlen(value) >= size) {
    Say("%s is too long and is ignored", name);
    return;
  }
  strcpy(out, value);
}

StackMode ParseStacks(const char* value) {
  if (!value || !*value || !strcmp(value, "all")) return StackMode::kAll;
  if (!strcmp(value, "comm")) return StackMode::kComm;
  if (!strcmp(value, "off") || !strcmp(value, "0")) return StackMode::kOff;
  Say("DDBG_STACKS=%s is none of all, comm, off; using all", value);
  return StackMode::kAll;
}

// A switch that is off unless it is turned on.
bool IsOn(const char* value) { return value && (!strcmp(value, "1") || !strcmp(value, "on")); }
bool IsOff(const char* value) { return !value || !*value || !strcmp(value, "0") || !strcmp(value, "off"); }

bool ParseOn(const char* value, const char* name) {
  if (!IsOn(value) && !IsOff(value)) Say("%s=%s is neither 0 nor 1; it stays off", name, value);
  return IsOn(value);
}

bool ParseTelemetry(const char* value) {
  if (!value || !*value || IsOn(value)) return true;
  if (!IsOff(value)) Say("DDBG_TELEMETRY=%s is neither 0 nor 1; it stays on", value);
  return !IsOff(value);
}

void SayIfPythonIsWrong(const char* value) {
  if (value && *value && !IsOn(value) && !IsOff(value)) Say("DDBG_PYTHON=%s is neither 0 nor 1; it stays on", value);
}

void SayIfWrong(const char* plugin, PluginMode mode) {
  if (mode == PluginMode::kOff && strcmp(plugin, "0") && strcmp(plugin, "off"))
    Say("DDBG_NCCL_PLUGIN=%s is none of 0, 1, times; using 0", plugin);
}

// "500M", "64 K" is wrong, "0" is no limit.
uint64_t ParseBudget(const char* value, uint64_t otherwise) {
  if (!value || !*value) return otherwise;
  char* end = nullptr;
  errno = 0;
  uint64_t number = strtoull(value, &end, 10);
  constexpr char kUnits[] = "KMG";
  const char* unit = *end ? strchr(kUnits, *end & ~0x20) : nullptr;
  int shift = unit ? static_cast<int>(unit - kUnits + 1) * 10 : 0;
  bool is_number = *value >= '0' && *value <= '9' && errno == 0 && number <= UINT64_MAX >> shift;
  if (is_number && (*end == '\0' || (unit && end[1] == '\0'))) return number << shift;
  Say("DDBG_BUDGET=%s is not a number of bytes as 500M or 2G; using 1G", value);
  return otherwise;
}

// Relative to where the program is now: it may change directory later.
void ResolveDir(const char* value, char* out, size_t size) {
  if (!value || !*value) value = "ddbg-runs";
  if (value[0] == '/') {
    Copy(value, out, size, "DDBG_DIR");
    return;
  }
  char cwd[PATH_MAX];
  if (!getcwd(cwd, sizeof(cwd))) strcpy(cwd, "/tmp");
  int n = snprintf(out, size, "%s/%s", cwd, strncmp(value, "./", 2) == 0 ? value + 2 : value);
  if (n < 0 || static_cast<size_t>(n) >= size) {
    Say("the path of DDBG_DIR is too long; using /tmp/ddbg-runs");
    strcpy(out, "/tmp/ddbg-runs");
  }
}

}  // namespace

bool IsSwitchedOff() {
  const char* value = getenv("DDBG");
  return value && (!strcmp(value, "0") || !strcmp(value, "off"));
}

bool WantsCudaDriver() { return IsOn(getenv("DDBG_CUDA_DRIVER")); }

bool WantsBufferChecks() { return IsOn(getenv("DDBG_CHECK_BUFFERS")); }

bool WantsPython() {
  const char* value = getenv("DDBG_PYTHON");
  return !value || !*value || !IsOff(value);
}

PluginMode ReadPluginMode() {
  const char* value = getenv("DDBG_NCCL_PLUGIN");
  if (!value || !*value) return PluginMode::kNotSaid;
  if (!strcmp(value, "0") || !strcmp(value, "off")) return PluginMode::kOff;
  if (!strcmp(value, "1") || !strcmp(value, "on")) return PluginMode::kOn;
  if (!strcmp(value, "times")) return PluginMode::kTimes;
  return PluginMode::kOff;
}

Settings ReadSettings() {
  Settings settings;
  settings.on = !IsSwitchedOff();
  if (!settings.on) return settings;
  const char* value = getenv("DDBG");
  if (value && *value && strcmp(value, "1") && strcmp(value, "on")) Say("DDBG=%s is neither 0 nor 1; recording", value);
  settings.stacks = ParseStacks(getenv("DDBG_STACKS"));
  settings.nccl_plugin = ReadPluginMode();
  SayIfWrong(getenv("DDBG_NCCL_PLUGIN"), settings.nccl_plugin);
  settings.budget_bytes = ParseBudget(getenv("DDBG_BUDGET"), settings.budget_bytes);
  settings.telemetry = ParseTelemetry(getenv("DDBG_TELEMETRY"));
  SayIfPythonIsWrong(getenv("DDBG_PYTHON"));
  settings.cuda_driver = ParseOn(getenv("DDBG_CUDA_DRIVER"), "DDBG_CUDA_DRIVER");
  settings.gpu_completion = ParseOn(getenv("DDBG_GPU_COMPLETION"), "DDBG_GPU_COMPLETION");
  const char* timing = getenv("DDBG_KERNEL_TIMING");
  if (!IsOff(timing)) Copy(timing, settings.kernel_timing, sizeof(settings.kernel_timing), "DDBG_KERNEL_TIMING");
  ResolveDir(getenv("DDBG_DIR"), settings.dir, sizeof(settings.dir));
  Copy(getenv("DDBG_RUN_ID"), settings.run_id, sizeof(settings.run_id), "DDBG_RUN_ID");
  if (!DefaultSocketPath(settings.socket, sizeof(settings.socket))) {
    Say("DDBG_SOCKET is longer than the %zu bytes a socket path may have; nothing is recorded", kSocketPathBytes - 1);
    settings.socket[0] = '\0';
  }
  Copy(getenv("DDBG_COLLECTOR"), settings.collector, sizeof(settings.collector), "DDBG_COLLECTOR");
  return settings;
}

}  // namespace ddbg::shim
