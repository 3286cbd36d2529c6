#include "shim/marks/mark.h"

#include <atomic>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "shim/recorder/intern_table.h"
#include "shim/recorder/stacks.h"

namespace ddbg::shim::marks {
namespace {

constexpr uint32_t kMaxNames = 1 << 12, kNameBytes = 256 << 10;
constexpr uint32_t kMaxTexts = 1 << 12, kTextBytes = 512 << 10;

// Texts have a table of their own, so that many of them leave names their room.
constinit InternTable g_names, g_texts;
constinit std::atomic<uint32_t> g_further_texts{0};
constinit std::atomic<uint64_t> g_making{0};  // recorder token for which the tables are being made, or were
constinit std::atomic<uint64_t> g_made{0};    // and for which they are there

// A forked child that records begins with an empty table: its trace has no names yet.
bool HaveTable(const ThreadState& t) {
  if (g_made.load(std::memory_order_acquire) == t.token) return true;
  uint64_t before = g_making.load(std::memory_order_relaxed);
  if (before != t.token && g_making.compare_exchange_strong(before, t.token, std::memory_order_acquire)) {
    if (g_names.Make(kMaxNames, kNameBytes) && g_texts.Make(kMaxTexts, kTextBytes))
      g_made.store(t.token, std::memory_order_release);
    return g_made.load(std::memory_order_relaxed) == t.token;
  }
  // Another thread is at it, for as long as mapping some memory takes. A signal handler cannot wait for what it
  // interrupted.
  constexpr int kMostTries = 1 << 20;
  for (int i = 0; i < kMostTries && g_made.load(std::memory_order_acquire) != t.token; ++i) {
  }
  return g_made.load(std::memory_order_acquire) == t.token;
}

bool Define(ThreadState& t, uint32_t id, const char* name, uint32_t bytes) {
  std::string text;
  protozero::pbf_writer definition(text);
  {
    protozero::pbf_writer mark_name(definition, 13);
    mark_name.add_uint32(1, id);
    mark_name.add_bytes(2, name, bytes);
  }
  return PushDefinition(t, text);
}

bool IsDefined(ThreadState& t, Interned& entry, uint32_t id, const char* name, uint32_t bytes) {
  if (entry.is_sent()) return true;
  if (!Define(t, id, name, bytes)) return false;
  entry.SetSent();
  return true;
}

// In the first 50 ms of a recording, before the clock is measured; to some per mille.
double RoughNsPerTick() {
  if (g_clock == ClockKind::kMonotonic) return 1;
  constexpr int64_t kLongNs = 50'000;
  int64_t first_ns = MonotonicNs(), ns = 0;
  uint64_t first = Now(), ticks = 0;
  while (ns < kLongNs) ns = MonotonicNs() - first_ns, ticks = Now() - first;
  return ticks ? static_cast<double>(ns) / static_cast<double>(ticks) : 0;
}

}  // namespace

uint32_t NameId(ThreadState& t, const char* name, uint32_t bytes) noexcept {
  if (bytes == 0 || !HaveTable(t)) return 0;
  Interned* entry = g_names.Find(name, bytes);
  return entry && IsDefined(t, *entry, entry->id, name, bytes) ? entry->id : 0;
}

uint32_t TextId(ThreadState& t, const char* text, uint32_t bytes) noexcept {
  if (bytes == 0 || !HaveTable(t)) return 0;
  if (Interned* entry = g_texts.Find(text, bytes)) {
    uint32_t id = kMaxNames + entry->id;
    return IsDefined(t, *entry, id, text, bytes) ? id : 0;
  }
  // The table is full. One that does not come again needs no place in it.
  uint32_t id = kMaxNames + kMaxTexts + 1 + g_further_texts.fetch_add(1, std::memory_order_relaxed);
  return Define(t, id, text, bytes) ? id : 0;
}

Record NewMark(ThreadState& t, MarkCall call) noexcept {
  Record mark = {};
  mark.call = CallId(call);
  mark.peer = kNoPeer;
  mark.stack = CaptureStack(t, true);
  mark.start = Now();
  return mark;
}

void SetDuration(int64_t duration_ns, Record* mark) noexcept {
  if (duration_ns <= 0) return;
  double ns_per_tick = CurrentClock().ns_per_tick;
  if (ns_per_tick <= 0) ns_per_tick = RoughNsPerTick();
  if (ns_per_tick <= 0) return;
  mark->duration = static_cast<uint64_t>(static_cast<double>(duration_ns) / ns_per_tick);
  mark->start -= mark->duration;
}

void Push(ThreadState& t, const Record& mark) noexcept {
  if (t.poll.key) FlushPoll(t, kBulkLane);  // what was polled before the mark belongs before it
  shim::Push(t, kVitalLane, mark);
}

}  // namespace ddbg::shim::marks
