// The switches of this process, read once on the first recorded call, on the application's thread.
#pragma once

#include <climits>
#include <cstdint>

#include "proto/socket_path.h"

namespace ddbg::shim {

enum class StackMode { kAll, kComm, kOff };
enum class PluginMode { kNotSaid, kOff, kOn, kTimes };

struct Settings {
  bool on = true;
  StackMode stacks = StackMode::kAll;
  bool cuda_driver = false;
  PluginMode nccl_plugin = PluginMode::kNotSaid;
  bool gpu_completion = false;
  bool telemetry = true;
  char kernel_timing[256] = "";               // "": no kernel is timed
  uint64_t budget_bytes = uint64_t{1} << 30;  // of the trace; 0: no limit
  char dir[PATH_MAX] = "";                    // absolute
  char run_id[256] = "";                      // "" if not given
  char socket[kSocketPathBytes];              // "": none that could be used
  char collector[PATH_MAX] = "";              // "" if not given
};

// Reads the environment; a wrong value is said once and ignored.
Settings ReadSettings();

// DDBG=0? Cheap enough for a process that will never record.
bool IsSwitchedOff();

// DDBG_CUDA_DRIVER=1? As cheap, and silent: needed before there is a recorder.
bool WantsCudaDriver();

// Not DDBG_PYTHON=0? The same.
bool WantsPython();

// DDBG_CHECK_BUFFERS=1? The same.
bool WantsBufferChecks();

// DDBG_NCCL_PLUGIN. Asked before there are settings, too.
PluginMode ReadPluginMode();

}  // namespace ddbg::shim
