#include "shim/cuda/completion.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "shim/cuda/completion_poller.h"
#include "shim/cuda/runtime.h"
#include "shim/cuda/streams.h"
#include "shim/interpose/definitions.h"
#include "shim/recorder/ids.h"
#include "shim/recorder/say.h"

namespace ddbg::shim::cuda {
namespace {

constexpr uint32_t kMaxKernels = 1 << 14;  // ids beyond are not timed by name
constexpr uint32_t kTries = 16;            // entries looked at for one that is free

constinit TimedOperation g_operations[kMaxTimed] = {};
constinit std::atomic<uint32_t> g_next{0};
constinit std::atomic<uint8_t> g_kernel_wanted[kMaxKernels] = {};
constinit uint32_t g_every = 0;  // 1/N: N; 0: by name
constinit bool g_has_pattern = false;
regex_t g_pattern;
constinit thread_local uint32_t g_launches [[gnu::tls_model("initial-exec")]] = 0;

// "1/100", or a pattern.
bool ReadSampling(const char* value) {
  g_every = 0;
  if (!strncmp(value, "1/", 2)) {
    char* end = nullptr;
    unsigned long every = strtoul(value + 2, &end, 10);
    if (*end || every == 0 || every > UINT32_MAX) {
      Say("DDBG_KERNEL_TIMING=%s is neither 1/N nor a regular expression; no kernel is timed", value);
      return false;
    }
    g_every = static_cast<uint32_t>(every);
    return true;
  }
  if (!g_has_pattern) g_has_pattern = regcomp(&g_pattern, value, REG_EXTENDED | REG_NOSUB) == 0;
  if (!g_has_pattern) Say("DDBG_KERNEL_TIMING=%s is no regular expression; no kernel is timed", value);
  return g_has_pattern;
}

bool IsWanted(uint32_t kernel) {
  if (g_every) return ++g_launches % g_every == 0;
  return kernel < kMaxKernels && g_kernel_wanted[kernel].load(std::memory_order_relaxed);
}

// Makes the events of an entry that has none yet, on the calling thread's device.
bool MakeEvents(LibraryCopy& copy, TimedOperation& entry, int32_t device) {
  constexpr uint32_t kDisableTiming = 2;  // cudaEventDisableTiming
  auto* create = FunctionOf<int(uint64_t*, uint32_t)>(copy, FunctionIndex(CudaCall::cudaEventCreateWithFlags));
  bool made = create && AskQuietly(copy, false, [&] {
                int result = create(&entry.begin, 0);
                if (result == kSuccess) result = create(&entry.end, 0);
                return result == kSuccess ? create(&entry.untimed, kDisableTiming) : result;
              });
  entry.device = made ? device : kNoDevice;
  return made;
}

TimedOperation* Take(LibraryCopy& copy, int32_t device) {
  if (g_captures.load(std::memory_order_relaxed) > 0 || device < 0) return nullptr;
  for (uint32_t i = 0; i < kTries; ++i) {
    TimedOperation& entry = g_operations[g_next.fetch_add(1, std::memory_order_relaxed) % kMaxTimed];
    uint32_t free = TimedOperation::kFree;
    if (entry.state.load(std::memory_order_relaxed) != free) continue;
    // acquire: the poller has done with it
    if (!entry.state.compare_exchange_strong(free, TimedOperation::kTaken, std::memory_order_acquire)) continue;
    bool fits = entry.device == device && entry.copy == &copy;
    if (entry.device == kNoDevice) {
      entry.copy = &copy;
      fits = MakeEvents(copy, entry, device);
    }
    if (fits) return &entry;
    entry.state.store(TimedOperation::kFree, std::memory_order_release);
  }
  return nullptr;
}

bool RecordEvent(LibraryCopy& copy, uint64_t event, uint64_t stream) {
  auto* record = FunctionOf<int(uint64_t, uint64_t)>(copy, FunctionIndex(CudaCall::cudaEventRecord));
  return record && AskQuietly(copy, false, [&] { return record(event, stream); });
}

void GiveBack(TimedOperation& entry) { entry.state.store(TimedOperation::kFree, std::memory_order_release); }

// To the poller. Release: what is in it is seen with it.
void Submit(TimedOperation& entry) { entry.state.store(TimedOperation::kEnqueued, std::memory_order_release); }

}  // namespace

constinit std::atomic<uint32_t> g_completion_wanted{0};

TimedOperation& TimedAt(uint32_t index) noexcept { return g_operations[index]; }

void StartCompletion(ThreadState& t) noexcept {
  const Settings& settings = CurrentSettings();
  uint32_t wanted = settings.gpu_completion ? kWantsNccl : 0;
  if (*settings.kernel_timing && ReadSampling(settings.kernel_timing)) wanted |= kWantsKernels;
  for (TimedOperation& entry : g_operations) {
    if (!wanted) break;
    entry.state.store(TimedOperation::kFree, std::memory_order_relaxed);  // in a forked child they are the parent's
    entry.device = kNoDevice;
  }
  if (wanted && !StartCompletionPoller()) {
    Say("no thread to look for what the GPU has done: no kernel is timed");
    wanted = 0;
  }
  WriteLevel(t, "kernel timing", wanted & kWantsKernels,
             "DDBG_KERNEL_TIMING says which kernels launched by the runtime are timed");
  WriteLevel(t, "GPU completion", wanted & kWantsNccl,
             "DDBG_GPU_COMPLETION=1 tells when the GPU is done with a call of NCCL");
  g_completion_wanted.store(wanted, std::memory_order_release);
}

void NoteKernelName(uint32_t id, const char* name, uint32_t size) noexcept {
  if (!(g_completion_wanted.load(std::memory_order_relaxed) & kWantsKernels) || g_every || id >= kMaxKernels) return;
  char text[512] = "";
  memcpy(text, name, size < sizeof(text) - 1 ? size : sizeof(text) - 1);
  if (regexec(&g_pattern, text, 0, nullptr, 0) == 0) g_kernel_wanted[id].store(1, std::memory_order_relaxed);
}

TimedOperation* BeginKernelSlow(ThreadState& t, LibraryCopy& copy, uint64_t stream, uint32_t kernel,
                                uint64_t* operation) noexcept {
  if (!IsWanted(kernel)) return nullptr;
  TimedOperation* entry = Take(copy, DeviceNow(t));
  if (!entry) return nullptr;
  entry->enqueued = Now();
  if (!RecordEvent(copy, entry->begin, stream)) {
    GiveBack(*entry);
    return nullptr;
  }
  entry->is_timed = true;
  entry->stream = stream;
  entry->operation = *operation = NextOperation();
  return entry;
}

void EndKernelSlow(LibraryCopy& copy, TimedOperation* timed, bool enqueued) noexcept {
  if (enqueued && RecordEvent(copy, timed->end, timed->stream))
    Submit(*timed);
  else
    GiveBack(*timed);
}

void NoteEnqueuedSlow(ThreadState& t, uint64_t stream, uint64_t operation) noexcept {
  // Looked for once: a process whose NCCL has its runtime inside may have none that can be called.
  static constinit std::atomic<LibraryCopy*> found{nullptr};
  static constinit std::atomic<bool> is_looked_for{false};
  if (!is_looked_for.load(std::memory_order_acquire)) {
    found.store(g_copies.Any(), std::memory_order_relaxed);
    is_looked_for.store(true, std::memory_order_release);
  }
  LibraryCopy* copy = found.load(std::memory_order_relaxed);
  TimedOperation* entry = copy ? Take(*copy, DeviceNow(t)) : nullptr;
  if (!entry) return;
  entry->is_timed = false;
  entry->enqueued = Now();
  entry->operation = operation;
  if (RecordEvent(*copy, entry->untimed, stream))
    Submit(*entry);
  else
    GiveBack(*entry);
}

}  // namespace ddbg::shim::cuda
