#include "shim/recorder/stacks.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_fixed.hpp>

#include "shim/recorder/say.h"
#include "shim/recorder/stack_memo.h"

namespace ddbg::shim {

// One interned stack. `state`: 0 empty → 1 claimed → 2 known, not sent → 3 sent. Two threads that meet a new stack at
// once may give it two ids, which does no harm.
struct Stack {
  std::atomic<uint64_t> hash;
  std::atomic<uint32_t> state;
  uint32_t id;
  uint32_t first_frame;  // index into Table::frames
  uint32_t frame_count;
};

namespace {

constexpr uint32_t kEntries = 1 << 17;
constexpr uint32_t kFrames = 1 << 21;
constexpr uint32_t kProbes = 32;

struct Table {
  Stack entries[kEntries];
  std::atomic<uint32_t> next_id;
  std::atomic<uint32_t> next_frame;
  uintptr_t frames[kFrames];
};

constinit Table* g_table = nullptr;
constinit StackMode g_mode = StackMode::kOff;
constinit const char* g_why = "not started";
constinit uintptr_t g_own_start = 0, g_own_end = 0;

int FindOwnRange(dl_phdr_info* info, size_t, void* own) {
  uintptr_t address = reinterpret_cast<uintptr_t>(own), low = ~uintptr_t{0}, high = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
    low = start < low ? start : low;
    high = end > high ? end : high;
  }
  if (address < low || address >= high) return 0;
  g_own_start = low;
  g_own_end = high;
  return 1;
}

uint64_t Mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ull;
  h ^= h >> 29;
  return h;
}

uint64_t Hash(const uintptr_t* frames, int n) {
  uint64_t h = 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(n);
  for (int i = 0; i < n; ++i) h = (h ^ frames[i]) * 0x9fb21c651e98df25ull, h ^= h >> 28;
  h = Mix(h);
  return h ? h : 1;
}

bool Same(const Stack& entry, const uintptr_t* frames, int n) {
  return entry.frame_count == static_cast<uint32_t>(n) &&
         memcmp(&g_table->frames[entry.first_frame], frames, n * sizeof(frames[0])) == 0;
}

bool Send(ThreadState& t, const Stack& entry) {
  if (!HasRoom(t.lane[kVitalLane], 1 + (entry.frame_count * 10 + 64) / kCellBytes)) return false;
  char bytes[kMaxFrames * 10 + 64];
  protozero::fixed_size_buffer_adaptor buffer(bytes, sizeof(bytes));
  protozero::basic_pbf_writer<protozero::fixed_size_buffer_adaptor> definition(buffer);
  {
    protozero::basic_pbf_writer<protozero::fixed_size_buffer_adaptor> stack(definition, 1);
    stack.add_uint32(1, entry.id);
    int64_t deltas[kMaxFrames];
    uintptr_t previous = 0;
    for (uint32_t i = 0; i < entry.frame_count; ++i) {
      uintptr_t frame = g_table->frames[entry.first_frame + i];
      deltas[i] = static_cast<int64_t>(frame - previous);
      previous = frame;
    }
    stack.add_packed_sint64(2, deltas, deltas + entry.frame_count);
  }
  return PushDefinition(t, {buffer.data(), buffer.size()});
}

// Sends it if that has not worked yet.
Stack* Use(ThreadState& t, Stack& entry) {
  if (entry.state.load(std::memory_order_relaxed) == 2 && Send(t, entry))
    entry.state.store(3, std::memory_order_relaxed);
  return &entry;
}

bool Fill(Stack& entry, const uintptr_t* frames, int n) {
  uint32_t first = g_table->next_frame.fetch_add(n, std::memory_order_relaxed);
  if (first + n > kFrames) {
    g_table->next_frame.store(kFrames, std::memory_order_relaxed);
    return false;
  }
  memcpy(&g_table->frames[first], frames, n * sizeof(frames[0]));
  entry.first_frame = first;
  entry.frame_count = n;
  entry.id = g_table->next_id.fetch_add(1, std::memory_order_relaxed) + 1;
  entry.state.store(2, std::memory_order_release);  // pairs with the acquire in Intern
  return true;
}

Stack* Intern(ThreadState& t, const uintptr_t* frames, int n) {
  uint64_t hash = Hash(frames, n);
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    Stack& entry = g_table->entries[(hash + probe) & (kEntries - 1)];
    uint64_t seen = entry.hash.load(std::memory_order_relaxed);
    if (seen == hash) {
      if (entry.state.load(std::memory_order_acquire) >= 2 && Same(entry, frames, n)) return Use(t, entry);
      continue;
    }
    if (seen != 0) continue;
    if (!entry.hash.compare_exchange_strong(seen, hash, std::memory_order_relaxed)) continue;
    entry.state.store(1, std::memory_order_relaxed);
    if (!Fill(entry, frames, n)) break;
    return Use(t, entry);
  }
  t.slot->lost[kLossStackTableFull].fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

// The calling thread's memory of stacks; nullptr if the system has none.
StackMemo* MemoOf(ThreadState& t) {
  if (t.memory->memo) return t.memory->memo;
  void* memory = mmap(nullptr, sizeof(StackMemo), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return t.memory->memo = static_cast<StackMemo*>(memory);
}

uint32_t Unwind(ThreadState& t) {
  uintptr_t frames[kMaxFrames];
  int n = Backtrace(frames, kMaxFrames), own = 0;
  while (own < n && frames[own] >= g_own_start && frames[own] < g_own_end) ++own;
  if (n == own) return 0;
  Stack* entry = Intern(t, frames + own, n - own);
  if (!entry) return 0;
  StackMemo* memo = MemoOf(t);
  if (memo) memo->Learn(t.guard, entry, frames + own, n - own);
  return entry->id;
}

}  // namespace

void StartStacks(StackMode mode) noexcept {
  g_mode = mode;
  if (mode == StackMode::kOff) {
    g_why = "switched off";
    return;
  }
  if (const char* why_not = LoadUnwinder()) {
    g_why = why_not;
    Say("libunwind.so.8 is not installed: calls are recorded without stacks (Debian package libunwind8)");
    return;
  }
  // A forked child starts with a table of its own: what its parent sent does not count for it.
  void* memory =
      mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    g_why = "no memory for the stack table";
    g_table = nullptr;
    return;
  }
  g_table = static_cast<Table*>(memory);  // all zero is its empty state; constructing would touch every page
  dl_iterate_phdr(FindOwnRange, reinterpret_cast<void*>(&FindOwnRange));
}

std::string StacksDescription() { return g_table ? "libunwind" : std::string("none: ") + g_why; }

uint32_t CaptureStack(ThreadState& t, bool communication_level) noexcept {
  if (!g_table || (g_mode == StackMode::kComm && !communication_level)) return 0;
  Stack* known = t.memory->memo ? t.memory->memo->Recall(t.guard) : nullptr;
  return known ? Use(t, *known)->id : Unwind(t);
}

}  // namespace ddbg::shim
