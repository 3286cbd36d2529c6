#include "shim/cuda/completion_poller.h"

#include <sys/prctl.h>
#include <time.h>

#include "shim/cuda/runtime.h"
#include "shim/recorder/own_thread.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::cuda {
namespace {

constexpr int64_t kPauseNs = 2'000'000;
constexpr int32_t kMaxDevices = 64;
// cudaEventElapsedTime gives a float of ms: after ten seconds it tells microseconds apart.
constexpr int64_t kRecalibrateNs = 10'000'000'000;
// After an event that the device, busy with something endless, did not come to: twice as long each time.
constexpr int64_t kFirstRetryNs = 4'000'000, kLastRetryNs = 1'000'000'000;
constexpr int32_t kRelaxed = 2;  // cudaStreamCaptureModeRelaxed

// An event of a device, and when by the host's clock it happened.
struct Base {
  uint64_t event;
  uint64_t before, after;  // ticks; after 0: not seen yet
  int64_t taken_ns;
};

struct Clock {
  uint64_t stream;  // ours; 0: not made
  Base bases[2];    // the one in use, and the next
  bool has_base;
  int64_t next_try_ns, retry_ns;
};

class Poller {
 public:
  [[noreturn]] void Run() {
    for (;;) {
      timespec pause{0, kPauseNs};
      nanosleep(&pause, nullptr);
      uint64_t now = Now();
      for (uint32_t i = 0; i < kMaxTimed; ++i) {
        TimedOperation& entry = TimedAt(i);
        // acquire: pairs with the release of who enqueued it
        if (entry.state.load(std::memory_order_acquire) == TimedOperation::kEnqueued) Look(entry);
      }
      last_look_ = now;
    }
  }

 private:
  // Of a device that the program has work on, so that this makes no context. Other threads' captures do not forbid us
  // anything then.
  bool Use(LibraryCopy& copy, int32_t device) {
    if (device == device_) return true;
    auto* set = FunctionOf<int(int)>(copy, FunctionIndex(CudaCall::cudaSetDevice));
    if (!set || set(device) != kSuccess) return false;
    device_ = device;
    if (is_relaxed_) return true;
    is_relaxed_ = true;
    int32_t mode = kRelaxed;
    if (auto* exchange = FunctionOf<int(int32_t*)>(copy, kExchangeCaptureMode)) exchange(&mode);
    return true;
  }

  int Query(LibraryCopy& copy, uint64_t event) {
    auto* query = FunctionOf<int(uint64_t)>(copy, FunctionIndex(CudaCall::cudaEventQuery));
    return query ? query(event) : kInvalidValue;
  }

  void Look(TimedOperation& entry) {
    LibraryCopy& copy = *entry.copy;
    if (!Use(copy, entry.device)) return Done(entry);
    Clock* clock = entry.is_timed ? Calibrated(copy, entry.device) : nullptr;
    if (entry.is_timed && !clock) return;  // in a moment
    int result = Query(copy, entry.is_timed ? entry.end : entry.untimed);
    if (result == kNotReady) return;
    if (result == kSuccess) {
      if (entry.is_timed)
        WriteTimed(copy, entry, *clock);
      else
        WriteSeen(entry);
    }
    Done(entry);
  }

  static void Done(TimedOperation& entry) { entry.state.store(TimedOperation::kFree, std::memory_order_release); }

  // nullptr: not yet, or this device cannot be.
  Clock* Calibrated(LibraryCopy& copy, int32_t device) {
    if (device < 0 || device >= kMaxDevices) return nullptr;
    Clock& clock = clocks_[device];
    if (!clock.stream && !Make(copy, clock)) return nullptr;
    Base& next = clock.bases[1];
    int64_t now = MonotonicNs();
    bool is_due = !clock.has_base || now - clock.bases[0].taken_ns > kRecalibrateNs;
    if (is_due && now >= clock.next_try_ns) {
      clock.retry_ns = clock.retry_ns == 0             ? kFirstRetryNs
                       : clock.retry_ns < kLastRetryNs ? clock.retry_ns * 2
                                                       : clock.retry_ns;
      clock.next_try_ns = now + clock.retry_ns;
      if (Take(copy, clock, next)) {
        clock.retry_ns = 0;
        Base old = clock.bases[0];
        clock.bases[0] = next;
        next = old;
        clock.has_base = true;
      }
    }
    return clock.has_base ? &clock : nullptr;
  }

  bool Make(LibraryCopy& copy, Clock& clock) {
    auto* create_stream =
        FunctionOf<int(uint64_t*, uint32_t)>(copy, FunctionIndex(CudaCall::cudaStreamCreateWithFlags));
    auto* create_event = FunctionOf<int(uint64_t*, uint32_t)>(copy, FunctionIndex(CudaCall::cudaEventCreateWithFlags));
    constexpr uint32_t kNonBlocking = 1;
    if (!create_stream || !create_event) return false;
    for (Base& base : clock.bases)
      if (!base.event && create_event(&base.event, 0) != kSuccess) return false;
    return create_stream(&clock.stream, kNonBlocking) == kSuccess;
  }

  // The tightest bracket of some tries. A device that is busy with what never ends may not come to our event: that is
  // waited for a millisecond at a time.
  bool Take(LibraryCopy& copy, Clock& clock, Base& base) {
    auto* record = FunctionOf<int(uint64_t, uint64_t)>(copy, FunctionIndex(CudaCall::cudaEventRecord));
    constexpr int kTries = 5;
    constexpr int64_t kMostNs = 1'000'000;
    uint64_t best = UINT64_MAX;
    Base found = base;
    for (int i = 0; i < kTries && record; ++i) {
      uint64_t before = Now();
      int64_t until = MonotonicNs() + kMostNs;
      if (record(base.event, clock.stream) != kSuccess) return false;
      int result = kNotReady;
      while (result == kNotReady && MonotonicNs() < until) result = Query(copy, base.event);
      uint64_t after = Now();
      if (result != kSuccess) return false;
      found = {base.event, before, after, MonotonicNs()};
      if (after - before <= best + best / 4) {
        best = after - before < best ? after - before : best;
        if (i >= kTries / 2) break;  // as good as it gets; the event is of this try
      }
    }
    base = found;
    return best != UINT64_MAX;
  }

  // Ticks of the host's clock a millisecond.
  double TicksPerMs() {
    int64_t ns = MonotonicNs() - start_ns_;
    return ns > 0 ? static_cast<double>(Now() - start_ticks_) / static_cast<double>(ns) * 1e6 : 1e6;
  }

  void WriteTimed(LibraryCopy& copy, const TimedOperation& entry, const Clock& clock) {
    auto* elapsed = FunctionOf<int(float*, uint64_t, uint64_t)>(copy, kEventElapsedTime);
    const Base& base = clock.bases[0];
    float since = 0, lasted = 0;
    if (!elapsed || elapsed(&lasted, entry.begin, entry.end) != kSuccess) return;
    // The base may be later than the kernel.
    bool is_after = base.after <= entry.enqueued && elapsed(&since, base.event, entry.begin) == kSuccess;
    if (!is_after) {
      if (elapsed(&since, entry.begin, base.event) != kSuccess) return;
      since = -since;
    }
    double ticks = TicksPerMs();
    uint64_t middle = base.before + (base.after - base.before) / 2;
    Record r = Completion(entry);
    r.start = middle + static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(since) * ticks));
    r.duration = static_cast<uint64_t>(static_cast<double>(lasted) * ticks);
    r.peer = Ns((base.after - base.before) / 2, ticks);
    Write(r);
  }

  void WriteSeen(const TimedOperation& entry) {
    Record r = Completion(entry);
    r.start = Now();
    uint64_t since = entry.enqueued > last_look_ ? entry.enqueued : last_look_;
    r.peer = Ns(r.start - since, TicksPerMs());
    Write(r);
  }

  static int32_t Ns(uint64_t ticks, double ticks_per_ms) {
    double ns = static_cast<double>(ticks) * 1e6 / ticks_per_ms;
    return ns < 1e9 ? static_cast<int32_t>(ns) : 1'000'000'000;
  }

  static Record Completion(const TimedOperation& entry) {
    Record r = {};
    r.call = kCallCompletion;
    r.aux = entry.operation;
    return r;
  }

  static void Write(const Record& record) {
    ThreadState* t = Enter(__builtin_frame_address(0));
    if (!t) return;
    Push(*t, kBulkLane, record);
    Leave(*t);
  }

  int32_t device_ = kNoDevice;
  bool is_relaxed_ = false;
  uint64_t start_ticks_ = Now();
  int64_t start_ns_ = MonotonicNs();
  uint64_t last_look_ = Now();
  Clock clocks_[kMaxDevices] = {};
};

void* RunPoller(void*) {
  prctl(PR_SET_NAME, "ddbg-gpu", 0, 0, 0);
  (new Poller)->Run();  // until the process ends
}

}  // namespace

bool StartCompletionPoller() noexcept { return StartOwnThread(RunPoller, nullptr); }

}  // namespace ddbg::shim::cuda
