#include "tests/fakes/core/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace nullgpu {
namespace {

std::string EnvironmentString(const char* name) {
  const char* text = getenv(name);
  return text ? text : "";
}

// A list of numbers, as CUDA reads it: it ends at the first entry that names no device.
std::vector<int> VisibleDevices(int on_machine) {
  std::vector<int> visible;
  const char* list = getenv("CUDA_VISIBLE_DEVICES");
  if (!list) {
    for (int device = 0; device < on_machine; ++device) visible.push_back(device);
    return visible;
  }
  for (const char* at = list; *at;) {
    char* end;
    long device = strtol(at, &end, 10);
    if (end == at || device < 0 || device >= on_machine) break;
    visible.push_back(static_cast<int>(device));
    if (*end != ',') break;
    at = end + 1;
  }
  return visible;
}

Settings Read() {
  Settings settings;
  settings.devices = VisibleDevices(std::clamp(EnvironmentInt("NULLGPU_DEVICES", 8), 0, kMaxDevices));
  settings.memory_bytes = static_cast<size_t>(std::max(0, EnvironmentInt("NULLGPU_MEM_MIB", 81920))) << 20;
  settings.kernel_us = std::max(0, EnvironmentInt("NULLGPU_KERNEL_US", 0));
  settings.queue = static_cast<size_t>(std::max(1, EnvironmentInt("NULLGPU_QUEUE", 1024)));
  settings.driver_version = EnvironmentInt("NULLGPU_DRIVER_VERSION", 13000);
  settings.trace = EnvironmentString("NULLGPU_TRACE");
  return settings;
}

FILE* OpenTrace() {
  const std::string& where = GetSettings().trace;
  if (where.empty()) return nullptr;
  FILE* file = where == "-" ? stderr : fopen((where + "." + std::to_string(getpid())).c_str(), "w");
  if (file) setlinebuf(file);
  return file;
}

}  // namespace

int EnvironmentInt(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

// Never destroyed: worker threads and the host's own destructors use it to the end of the process.
const Settings& GetSettings() {
  static const Settings* settings = new Settings(Read());
  return *settings;
}

void Trace(const char* format, ...) {
  static FILE* file = OpenTrace();
  if (!file) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  fprintf(file, "[%d:%ld] %s\n", getpid(), syscall(SYS_gettid), line);
}

}  // namespace nullgpu
