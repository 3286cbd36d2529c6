#include "shim/recorder/stacks.h"

#include <link.h>
#include <sys/mman.h>

#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_fixed.hpp>

#include "shim/recorder/frame_pointers.h"
#include "shim/recorder/intern_table.h"
#include "shim/recorder/python/codes.h"
#include "shim/recorder/python/frames.h"
#include "shim/recorder/say.h"
#include "shim/recorder/stack_memo.h"

namespace ddbg::shim {

// What a thread needs to read its interpreter.
struct PythonReading {
  ReadableMemory memory;
  StackWord words[kMaxPythonWords];
  int word_count;
  int failures;  // walks that found nothing where there is something
};

namespace {

using Writer = protozero::basic_pbf_writer<protozero::fixed_size_buffer_adaptor>;

constexpr uint32_t kStacks = 1 << 17;
constexpr uint32_t kFrameBytes = 16 << 20;
constexpr int kMaxFailures = 16;

// A stack as it is interned: return addresses, innermost first, then Python frames, which have bit 63 set.
constexpr int kMaxStackWords = kMaxFrames + kMaxPythonFrames;
constexpr uint64_t kPythonBit = uint64_t{1} << 63;
constexpr int kCodeShift = 33, kLineShift = 1;  // and bit 0: the frame was called from C

constinit InternTable g_stacks;
constinit StackMode g_mode = StackMode::kOff;
constinit const char* g_why = "not started";
constinit bool g_by_frame_pointers = false;
constinit std::atomic<const PythonLayout*> g_python = nullptr;
constinit bool g_looked_for_python = false;
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

template <typename T>
T* Memory(T** kept) {
  if (*kept) return *kept;
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : *kept = static_cast<T*>(memory);
}

// ---- Definitions ------------------------------------------------------------------------------------------------

struct StackWords {
  const uint64_t* at;
  int native = 0, all = 0;
};

StackWords WordsOf(const Interned& stack) {
  StackWords words{reinterpret_cast<const uint64_t*>(g_stacks.Bytes(stack))};
  words.all = static_cast<int>(stack.size / sizeof(uint64_t));
  while (words.native < words.all && !(words.at[words.native] & kPythonBit)) ++words.native;
  return words;
}

bool SendCodes(ThreadState& t, const StackWords& words) {
  for (int i = words.native; i < words.all; ++i)
    if (!SendPythonCode(t, static_cast<uint32_t>((words.at[i] & ~kPythonBit) >> kCodeShift))) return false;
  return true;
}

bool Send(ThreadState& t, const Interned& stack) {
  StackWords words = WordsOf(stack);
  if (!HasRoom(t.lane[kVitalLane], 1 + (words.all * 10 + 64) / kCellBytes) || !SendCodes(t, words)) return false;
  char bytes[kMaxStackWords * 10 + 64];
  protozero::fixed_size_buffer_adaptor buffer(bytes, sizeof(bytes));
  Writer definition(buffer);
  {
    Writer message(definition, 1);
    message.add_uint32(1, stack.id);
    int64_t deltas[kMaxFrames];
    uint64_t previous = 0;
    for (int i = 0; i < words.native; ++i) {
      deltas[i] = static_cast<int64_t>(words.at[i] - previous);
      previous = words.at[i];
    }
    message.add_packed_sint64(2, deltas, deltas + words.native);
    uint64_t python[kMaxPythonFrames];
    for (int i = words.native; i < words.all; ++i) python[i - words.native] = words.at[i] & ~kPythonBit;
    if (words.all > words.native) message.add_packed_uint64(3, python, python + (words.all - words.native));
  }
  return PushDefinition(t, {buffer.data(), buffer.size()});
}

// Sends it if that has not worked yet.
Interned* Use(ThreadState& t, Interned& stack) {
  if (!stack.is_sent() && Send(t, stack)) stack.SetSent();
  return &stack;
}

// ---- Unwinding --------------------------------------------------------------------------------------------------

PythonPlace WherePythonIs() {
  const PythonLayout* python = g_python.load(std::memory_order_acquire);
  return python ? WherePythonIs(*python) : PythonPlace{};
}

// Appends the thread's Python frames to `words`. Returns how many.
int AddPython(ThreadState& t, const PythonPlace& place, uint64_t* words) {
  const PythonLayout* python = g_python.load(std::memory_order_acquire);
  PythonReading* reading = python && place.state ? Memory(&t.memory->python) : nullptr;
  if (!reading) return 0;
  PythonFrame frames[kMaxPythonFrames];
  int n = WalkPython(*python, place, reading->memory, frames, reading->words, &reading->word_count);
  for (int i = 0; i < n; ++i) {
    uint64_t code = InternPythonCode(*python, reading->memory, frames[i].code);
    if (code == 0) n = 0;
    uint64_t line = frames[i].line > 0 ? static_cast<uint64_t>(frames[i].line) : 0;
    words[i] = kPythonBit | code << kCodeShift | line << kLineShift | (frames[i].begins_evaluation ? 1 : 0);
  }
  if (n > 0) return n;
  reading->word_count = 0;
  if (++reading->failures >= kMaxFailures) g_python.store(nullptr, std::memory_order_relaxed);
  return 0;
}

uint32_t Unwind(ThreadState& t, const PythonPlace& place) {
  static_assert(sizeof(uintptr_t) == sizeof(uint64_t));
  uint64_t words[kMaxStackWords];
  uintptr_t frames[kMaxFrames];
  int n = g_by_frame_pointers ? WalkFramePointers(t, frames, kMaxFrames) : Backtrace(frames, kMaxFrames), own = 0;
  while (own < n && frames[own] >= g_own_start && frames[own] < g_own_end) ++own;
  int native = n - own;
  for (int i = 0; i < native; ++i) words[i] = frames[own + i];
  int python = AddPython(t, place, words + native);
  if (native + python == 0) return 0;
  Interned* stack = g_stacks.Find(words, static_cast<uint32_t>((native + python) * sizeof(words[0])));
  if (!stack) {
    t.slot->lost[kLossStackTableFull].fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  const PythonReading* reading = t.memory->python;
  StackMemo* memo = native > 0 ? Memory(&t.memory->memo) : nullptr;
  StackMemo::Unwound unwound{frames + own, native, reading ? reading->words : nullptr,
                             python ? reading->word_count : 0};
  if (memo) memo->Learn(t.guard, place, stack, unwound, g_by_frame_pointers ? FindFramePointerWords : FindStackWords);
  return Use(t, *stack)->id;
}

void StartUnwinding() {
  const char* why_not = LoadUnwinder();
  g_by_frame_pointers = why_not != nullptr;
  if (!g_by_frame_pointers) return;
  g_why = why_not;
  LearnCode();
  Say("libunwind.so.8 is not installed: stacks go only as far as frame pointers do (Debian package libunwind8)");
}

void LookForPython() {
  if (g_looked_for_python) return;
  const PythonLayout* python = FindPython();
  if (!python) return;
  g_looked_for_python = true;
  // Release: pairs with the loads of g_python, which read the layout behind it.
  if (python->why_not == nullptr && StartPythonCodes()) g_python.store(python, std::memory_order_release);
}

}  // namespace

void StartStacks(StackMode mode) noexcept {
  g_mode = mode;
  g_stacks.Forget();
  g_python.store(nullptr, std::memory_order_relaxed);
  if (mode == StackMode::kOff) {
    g_why = "switched off";
    return;
  }
  // A forked child starts with a table of its own: what its parent sent does not count for it.
  if (!g_stacks.Make(kStacks, kFrameBytes)) {
    g_why = "no memory for the stack table";
    return;
  }
  StartUnwinding();
  dl_iterate_phdr(FindOwnRange, reinterpret_cast<void*>(&FindOwnRange));
  g_looked_for_python = false;
  LookForPython();
}

std::string StacksDescription() {
  if (!g_stacks.is_made()) return std::string("none: ") + g_why;
  std::string how = g_by_frame_pointers ? std::string("frame pointers: ") + g_why : "libunwind";
  const PythonLayout* python = g_looked_for_python ? FindPython() : nullptr;
  if (!python) return how;
  how += ", CPython " + std::string(python->version);
  return how + (python->why_not ? std::string(" not read: ") + python->why_not : "");
}

void StacksMeetNewModules() noexcept {
  if (!g_stacks.is_made()) return;
  if (g_by_frame_pointers) LearnCode();
  LookForPython();
}

uint32_t CaptureStack(ThreadState& t, bool communication_level) noexcept {
  if (!g_stacks.is_made() || (g_mode == StackMode::kComm && !communication_level)) return 0;
  PythonPlace place = WherePythonIs();
  Interned* known = t.memory->memo ? t.memory->memo->Recall(t.guard, place) : nullptr;
  return known ? Use(t, *known)->id : Unwind(t, place);
}

}  // namespace ddbg::shim
