// Events that NCCL has started and that ddbg has to remember: a handle is a number that is given once, so that one of
// an event long over (NCCL keeps handles of captured operations as parents as long as their graph lives) is recognised
// and not another's.
//
// Events are taken in turn from a ring that is large against what can be under way; one still open is passed over. No
// lock and no allocation: who takes an event claims its place by the ticket, which pairs release with the acquire in
// Find. An event's fields are atomics because a thread may look at one by an old handle just as its place is taken
// anew; what it reads then is of no harm, since the ticket no longer fits.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace ddbg::shim::nccl::plugin {

struct alignas(64) Event {
  std::atomic<uint64_t> ticket;     // 0: free, or being taken
  std::atomic<uint64_t> operation;  // 0: not known; of a kernel channel the parent's handle
  std::atomic<void*> other;         // the other plugin's handle
  std::atomic<uint64_t> before;     // ticks: the program's call began, and the device had not; 0: not known
  std::atomic<uint64_t> first;      // earliest start and latest end on the device, in its own ns
  std::atomic<uint64_t> last;
  std::atomic<uint32_t> comm;
  std::atomic<uint32_t> context;  // Context::id
  std::atomic<uint16_t> begun;    // kernel channels
  std::atomic<uint16_t> done;
  std::atomic<uint8_t> channels;  // that there will be; 0: not known
  std::atomic<uint8_t> type;      // which bit of EventType
  std::atomic<uint8_t> open;
};
static_assert(sizeof(Event) == 64);

class EventRing {
 public:
  static constexpr uint64_t kEvents = 1 << 15;

  bool Make() noexcept {
    if (events_.load(std::memory_order_acquire)) return true;
    void* memory = mmap(nullptr, kEvents * sizeof(Event), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    Event* none = nullptr;
    if (!events_.compare_exchange_strong(none, static_cast<Event*>(memory), std::memory_order_acq_rel))
      munmap(memory, kEvents * sizeof(Event));
    return true;
  }

  // Its fields are to be set and then Publish()ed. nullptr: too many are open. `is_alive`: an event left open may be
  // one of a communicator that is gone.
  template <class IsAlive>
  Event* Take(uint64_t* ticket, IsAlive is_alive) noexcept {
    Event* events = events_.load(std::memory_order_acquire);
    for (int turn = 0; events && turn < kTurns; ++turn) {
      *ticket = next_.fetch_add(1, std::memory_order_relaxed) + 1;
      Event& event = events[*ticket & (kEvents - 1)];
      uint64_t before = event.ticket.load(std::memory_order_relaxed);
      if (event.open.load(std::memory_order_relaxed) && is_alive(event)) continue;
      if (event.ticket.compare_exchange_strong(before, 0, std::memory_order_acquire)) return &event;
    }
    return nullptr;
  }

  static void Publish(Event& event, uint64_t ticket) noexcept {
    event.open.store(1, std::memory_order_relaxed);
    event.ticket.store(ticket, std::memory_order_release);
  }

  Event* Find(uint64_t ticket) noexcept {
    Event* events = events_.load(std::memory_order_acquire);
    if (!events || ticket == 0) return nullptr;
    Event& event = events[ticket & (kEvents - 1)];
    return event.ticket.load(std::memory_order_acquire) == ticket ? &event : nullptr;
  }

 private:
  static constexpr int kTurns = 64;
  std::atomic<Event*> events_{nullptr};
  std::atomic<uint64_t> next_{0};
};

}  // namespace ddbg::shim::nccl::plugin
