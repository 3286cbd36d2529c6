#include "shim/cuda/library.h"

#include <sched.h>
#include <stdio.h>

#include "shim/cuda/completion.h"
#include "shim/cuda/driver.h"
#include "shim/cuda/kernels.h"
#include "shim/cuda/runtime.h"
#include "shim/interpose/definitions.h"

namespace ddbg::shim::cuda {
namespace {

constinit std::atomic<uint64_t> g_attaching{0};  // token whose attachment has begun

struct VersionText {
  char text[16] = "";
  explicit VersionText(int32_t code) {  // 12040 is 12.4
    if (code > 0) snprintf(text, sizeof(text), "%d.%d", code / 1000, code % 1000 / 10);
  }
};

void WriteRuntime(ThreadState& t) {
  LibraryCopy* copy = g_copies.Any();
  if (!copy) return;
  auto* get = FunctionOf<int(int*)>(*copy, kGetVersion);
  int version = 0;
  if (get && get(&version) != kSuccess) version = 0;
  WriteLibrary(t, "CUDA runtime", VersionText(version).text, copy->path);
}

void WriteLevels(ThreadState& t) {
  WriteLevel(
      t, "CUDA runtime", true,
      "calls of a shared libcudart; not those of a runtime that is linked statically, as in cuBLAS, cuDNN, NCCL and "
      "what nvcc links by default, nor kernels launched through the driver");
  if (IsDriverLevelOn())
    WriteLevel(t, "CUDA driver", true,
               "launches, host waits, synchronous copies and cuMemAlloc; not what a library has looked up before "
               "libddbg.so was there");
  else
    WriteLevel(t, "CUDA driver", false, "DDBG_CUDA_DRIVER=1 turns it on");
}

}  // namespace

constinit std::atomic<uint64_t> g_attached{0};
constinit std::atomic<uint64_t> g_driver_told{0};

bool AttachSlow(ThreadState& t) noexcept {
  uint64_t before = g_attaching.load(std::memory_order_relaxed);
  if (before == t.token || !g_attaching.compare_exchange_strong(before, t.token, std::memory_order_acquire)) {
    // Another thread's first call: microseconds. Bounded, since this one may hold what that one needs.
    for (int turn = 0; turn < 1000 && g_attached.load(std::memory_order_acquire) != t.token; ++turn) sched_yield();
    return g_attached.load(std::memory_order_acquire) == t.token;
  }
  if (!MakeKernelTables()) return false;
  WriteRuntime(t);
  WriteLevels(t);
  StartCompletion(t);
  g_attached.store(t.token, std::memory_order_release);
  return true;
}

void TellDriverSlow(ThreadState& t) noexcept {
  g_driver_told.store(t.token, std::memory_order_relaxed);
  if (LibraryCopy* copy = Driver()) WriteLibrary(t, "CUDA driver", VersionText(DriverVersion()).text, copy->path);
}

}  // namespace ddbg::shim::cuda
