#include "shim/recorder/sender.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include "proto/batch_encoder.h"
#include "shim/recorder/clock.h"
#include "shim/recorder/collector_start.h"
#include "shim/recorder/link.h"
#include "shim/recorder/modules.h"
#include "shim/recorder/own_thread.h"
#include "shim/recorder/recorder_state.h"
#include "shim/recorder/say.h"
#include "shim/recorder/stacks.h"

namespace ddbg::shim {
namespace {

constexpr int64_t kMinPauseNs = 1'000'000;
// Longer would spare the cores, each waking taking one from a rank; but a burst of 800,000 collectives a second must
// fit into a lane until then.
constexpr int64_t kMaxPauseNs = 20'000'000;
// A drain should find a lane about this full; the rest is for bursts and for what the collector has not written yet.
constexpr double kWantedFill = 0.125;
// Less than this is sent when it is old: each frame wakes the collector, on a core that a rank may be using. What has
// not been sent is safe in the region.
constexpr double kWorthSending = kWantedFill / 2;
constexpr int64_t kMaxUnsentNs = 200'000'000;
constexpr int64_t kHouseworkNs = 1'000'000'000;
constexpr size_t kFrameBytes = 64 << 10;  // a frame is sent at this size

class Sender {
 public:
  explicit Sender(Recorder* recorder)
      : recorder_(recorder),
        link_(recorder->settings.socket, FindCollector(recorder->settings.collector),
              Ranks(recorder->launcher).local_rank <= 0) {}

  void Run() {
    for (;;) {
      if (link_.state() == Link::State::kDown && !Reconnect()) {
        Pause(kMaxPauseNs);
        continue;
      }
      if (!Calibrate(recorder_->region.header())) {
        Pause(kMinPauseNs);
        continue;
      }
      SayIfUnwritten(*recorder_);
      Housework();
      Pause(PauseAfter(Drain()));
    }
  }

 private:
  bool Reconnect() {
    // The program has closed our descriptors. A collector that has the region reads it without them.
    int memfd = recorder_->memfd.fd();
    if (memfd < 0) {
      Handover pending = Handover::kPending;
      recorder_->handover.compare_exchange_strong(pending, Handover::kHopeless, std::memory_order_relaxed);
      return false;
    }
    if (hello_.empty())
      hello_ =
          EncodeProcess(recorder_->settings, recorder_->launcher, *recorder_->region.header(), StacksDescription());
    uint64_t version = ModulesVersion();
    bool connected = link_.Connect(hello_, memfd, EncodeModules);
    recorder_->handover.store(connected          ? Handover::kDone
                              : link_.hopeless() ? Handover::kHopeless
                                                 : Handover::kPending,
                              std::memory_order_relaxed);
    if (!connected) return false;
    // What the last collector took but did not write is sent again.
    for (uint32_t i = 0; i < kMaxThreads; ++i)
      for (LaneState& lane : recorder_->region.slot(i)->lane)
        lane.sent.store(lane.written.load(std::memory_order_acquire), std::memory_order_relaxed);
    StacksMeetNewModules();
    modules_version_ = version;
    return true;
  }

  void Housework() {
    int64_t now = MonotonicNs();
    if (modules_version_ && now - housework_ns_ < kHouseworkNs) return;
    housework_ns_ = now;
    uint64_t version = ModulesVersion();
    if (version != modules_version_) {
      StacksMeetNewModules();
      if (link_.Send(EncodeModules())) modules_version_ = version;
    }
    FreeSlotsOfEndedThreads();
  }

  void FreeSlotsOfEndedThreads() {
    for (uint32_t i = 0; i < kMaxThreads; ++i) {
      ThreadSlot* slot = recorder_->region.slot(i);
      uint32_t tid = slot->tid.load(std::memory_order_relaxed);
      if (tid == 0 || syscall(SYS_tgkill, recorder_->pid, tid, 0) == 0) continue;
      bool drained = true;
      for (LaneState& lane : slot->lane)
        drained = drained && lane.written.load(std::memory_order_acquire) == lane.head.load(std::memory_order_acquire);
      // release: the next owner sees the lanes as they are
      if (drained) slot->tid.store(0, std::memory_order_release);
    }
  }

  // All lanes into as few frames as possible: each wakes the collector. The fullest lane found, as a part of its
  // capacity.
  double Drain() {
    double fullest = Fullest();
    int64_t now = MonotonicNs();
    bool ends = recorder_->region.header()->exit_seen.load(std::memory_order_relaxed) != 0;
    if (fullest < kWorthSending && now - drained_ns_ < kMaxUnsentNs && !ends) return fullest;
    drained_ns_ = now;
    TickMapper mapper = MakeTickMapper(*recorder_->region.header());
    for (uint32_t i = 0; i < kMaxThreads; ++i) {
      if (recorder_->region.slot(i)->tid.load(std::memory_order_acquire) == 0) continue;
      for (uint32_t lane = 0; lane < kLanes; ++lane) DrainLane(i, lane, mapper);
    }
    SendChunk();
    return fullest;
  }

  double Fullest() const {
    double fullest = 0;
    for (uint32_t i = 0; i < kMaxThreads; ++i) {
      const ThreadSlot* slot = recorder_->region.slot(i);
      if (slot->tid.load(std::memory_order_relaxed) == 0) continue;
      for (uint32_t id = 0; id < kLanes; ++id) {
        const LaneState& lane = slot->lane[id];
        uint64_t unsent = lane.head.load(std::memory_order_relaxed) - lane.sent.load(std::memory_order_relaxed);
        double fill = static_cast<double>(unsent) / static_cast<double>(kLaneCells[id]);
        fullest = fill > fullest ? fill : fullest;
      }
    }
    return fullest;
  }

  void DrainLane(uint32_t slot, uint32_t lane_id, const TickMapper& mapper) {
    LaneState& lane = recorder_->region.slot(slot)->lane[lane_id];
    // acquire: pairs with the release in Push
    uint64_t head = lane.head.load(std::memory_order_acquire), sent = lane.sent.load(std::memory_order_relaxed);
    while (sent < head && link_.state() == Link::State::kUp) {
      uint64_t got_to = EncodeLane(recorder_->region, slot, lane_id, sent, head, mapper, &chunk_);
      if (got_to == sent) break;
      sent = got_to;
      // Ahead of the sending: if that fails, the next connection begins at what was written.
      lane.sent.store(sent, std::memory_order_relaxed);
      if (chunk_.size() >= kFrameBytes) SendChunk();
    }
  }

  void SendChunk() {
    if (!chunk_.empty()) link_.Send(chunk_);
    chunk_.clear();
  }

  // Often when there is much, seldom when there is little.
  int64_t PauseAfter(double fullest) {
    double wanted =
        fullest > 0 ? static_cast<double>(pause_ns_) * kWantedFill / fullest : 2.0 * static_cast<double>(pause_ns_);
    // Down at once, up slowly: the next burst is like the last.
    pause_ns_ = static_cast<int64_t>(
        wanted < 2.0 * static_cast<double>(pause_ns_) ? wanted : 2.0 * static_cast<double>(pause_ns_));
    if (pause_ns_ < kMinPauseNs) pause_ns_ = kMinPauseNs;
    if (pause_ns_ > kMaxPauseNs) pause_ns_ = kMaxPauseNs;
    return pause_ns_;
  }

  static void Pause(int64_t ns) {
    timespec t{ns / 1'000'000'000, ns % 1'000'000'000};
    nanosleep(&t, nullptr);
  }

  Recorder* recorder_;
  Link link_;
  std::string hello_;
  std::string chunk_;
  uint64_t modules_version_ = 0;
  int64_t housework_ns_ = 0;
  int64_t drained_ns_ = 0;
  int64_t pause_ns_ = 10'000'000;
};

void* RunSender(void* recorder) {
  prctl(PR_SET_NAME, "ddbg", 0, 0, 0);
  // Never destroyed: it runs until the process ends.
  Sender* sender = new Sender(static_cast<Recorder*>(recorder));
  sender->Run();
  return nullptr;
}

}  // namespace

bool StartSender(Recorder* recorder) { return StartOwnThread(RunSender, recorder); }

}  // namespace ddbg::shim
