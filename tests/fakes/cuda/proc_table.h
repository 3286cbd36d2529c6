// The table behind cuGetProcAddress (proc_addresses.def).
#pragma once

#include <span>

namespace nullgpu {

struct ProcEntry {
  const char* base;
  int since;  // CUDA's version, 1000 x major + 10 x minor
  void (*legacy)();
  void (*per_thread)();
};

std::span<const ProcEntry> ProcTable();

}  // namespace nullgpu
