// What the environment says about the simulated devices. Read once, at the first use.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nullgpu {

constexpr int kMaxDevices = 16;

struct Settings {
  std::vector<int> devices;  // visible ordinal -> device on the machine (CUDA_VISIBLE_DEVICES of NULLGPU_DEVICES)
  size_t memory_bytes;       // of each device (NULLGPU_MEM_MIB)
  int kernel_us;             // a kernel keeps its stream busy for so long (NULLGPU_KERNEL_US)
  size_t queue;              // a call that enqueues blocks while so many operations wait in its stream (NULLGPU_QUEUE)
  int driver_version;        // NULLGPU_DRIVER_VERSION
  std::string trace;         // "-" or the beginning of a path (NULLGPU_TRACE)
};

const Settings& GetSettings();

// An environment variable as a number; `otherwise` if it is not set or empty.
int EnvironmentInt(const char* name, int otherwise);

// One line on the trace, if there is one.
void Trace(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace nullgpu
