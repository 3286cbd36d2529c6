// NVTX ranges as phases. A program's NVTX comes to InitializeInjectionNvtx2 where NVTX_INJECTION64_PATH names this
// library. `ddbg run` sets that. This library does not, but for one call of PyTorch's
// (shim/python/ddbg_bridge/ranges.py): it would be handed on to children that are not traced, and would have the place
// of a profiler that is started further down. NVTX's other way, the pointer InitializeInjectionNvtx2_fnptr of a tool
// that is linked in, is closed to a preload: NVTX's headers define it hidden.
//
// Ranges do not begin a recording: who uses NVTX need not be a part of a distributed job.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "shim/marks/mark.h"
#include "shim/marks/nvtx/abi.h"
#include "shim/marks/nvtx/names.h"
#include "shim/recorder/settings.h"

namespace ddbg::shim::nvtx {
namespace {

// A domain is a pointer to one of these; the program's default one is nullptr.
constexpr char kRecordedDomain = 0, kIgnoredDomain = 0;

bool IsIgnored(const void* domain) { return domain == &kIgnoredDomain; }

// Of a range that ends by its id; its name goes with the begin.
constinit std::atomic<uint32_t> g_last_range{0};

// A loop may push ranges faster than is good for the trace. Of one thread so many a second are recorded, and their
// pops.
constexpr uint32_t kMostASecond = 2000;
constexpr uint32_t kMostDepth = 64;

struct Pace {
  uint64_t window;    // second of the recorder's clock
  uint32_t pushed;    // in it
  uint32_t depth;     // pushes that wait for their pop
  uint64_t recorded;  // a bit a level
};
constinit thread_local Pace g_pace [[gnu::tls_model("initial-exec")]] = {};

bool IsRecording() { return *g_live.load(std::memory_order_acquire) != 0; }

bool MayPush() {
  RecordClock clock = CurrentClock();
  double ns_per_tick = clock.ns_per_tick > 0 ? clock.ns_per_tick : 1;
  uint64_t window = static_cast<uint64_t>(static_cast<double>(Now() - clock.start) * ns_per_tick / 1e9);
  if (window != g_pace.window) g_pace.window = window, g_pace.pushed = 0;
  return ++g_pace.pushed <= kMostASecond;
}

// `range`: its id, 0 of one that is the thread's innermost. False: not recorded.
[[gnu::always_inline]] inline bool Mark(void* frame, MarkCall call, const Name* name, uint32_t range) {
  ThreadState* entered = Enter(frame);
  ThreadState* t = entered ? entered : Inside(frame);
  if (!t) return false;
  int saved_errno = errno;
  Record mark = marks::NewMark(*t, call);
  if (name) mark.aux = marks::NameId(*t, name->text, name->length);
  mark.tag = static_cast<int32_t>(range);
  marks::Push(*t, mark);
  errno = saved_errno;
  if (entered) Leave(*t);
  return true;
}

void ReadName(const EventAttributes* attributes, Name* name) {
  name->length = 0;
  name->text[0] = '\0';
  if (!attributes || attributes->size < sizeof(EventAttributes)) return;
  if (attributes->message_type == kAscii) Set(static_cast<const char*>(attributes->message), name);
  if (attributes->message_type == kUnicode) Set(static_cast<const wchar_t*>(attributes->message), name);
  if (attributes->message_type == kRegistered && attributes->message)
    *name = *static_cast<const Name*>(attributes->message);
}

[[gnu::always_inline]] inline void Push(void* frame, Name* name) {
  bool recorded = IsRecording() && name->length > 0 && g_pace.depth < kMostDepth && MayPush();
  if (recorded) {
    Bound(name);
    recorded = Mark(frame, MarkCall::ddbg_phase_begin, name, 0);
  }
  if (g_pace.depth < kMostDepth) {
    uint64_t bit = uint64_t{1} << g_pace.depth;
    g_pace.recorded = recorded ? g_pace.recorded | bit : g_pace.recorded & ~bit;
  }
  ++g_pace.depth;
}

[[gnu::always_inline]] inline void Pop(void* frame) {
  if (g_pace.depth == 0) return;
  --g_pace.depth;
  if (g_pace.depth < kMostDepth && (g_pace.recorded >> g_pace.depth & 1) && IsRecording())
    Mark(frame, MarkCall::ddbg_phase_end, nullptr, 0);
}

// An id also of what is not recorded: the program hands it back. Recorded ones are odd.
[[gnu::always_inline]] inline uint64_t Start(void* frame, Name* name) {
  uint32_t id = g_last_range.fetch_add(2, std::memory_order_relaxed) + 2;
  id &= INT32_MAX;
  if (!IsRecording() || name->length == 0 || !MayPush()) return id | uint64_t{1} << 32;
  Bound(name);
  return Mark(frame, MarkCall::ddbg_phase_begin, name, id | 1) ? id | 1 : id | uint64_t{1} << 32;
}

[[gnu::always_inline]] inline void End(void* frame, uint64_t range) {
  if ((range & 1) && range <= INT32_MAX && IsRecording())
    Mark(frame, MarkCall::ddbg_phase_end, nullptr, static_cast<uint32_t>(range));
}

int RangePushA(const char* text) {
  Name name;
  Set(text, &name);
  Push(__builtin_frame_address(0), &name);
  return kNoPushPopTracking;
}

int RangePushW(const wchar_t* text) {
  Name name;
  Set(text, &name);
  Push(__builtin_frame_address(0), &name);
  return kNoPushPopTracking;
}

int RangePushEx(const EventAttributes* attributes) {
  Name name;
  ReadName(attributes, &name);
  Push(__builtin_frame_address(0), &name);
  return kNoPushPopTracking;
}

int RangePop() {
  Pop(__builtin_frame_address(0));
  return kNoPushPopTracking;
}

uint64_t RangeStartA(const char* text) {
  Name name;
  Set(text, &name);
  return Start(__builtin_frame_address(0), &name);
}

uint64_t RangeStartW(const wchar_t* text) {
  Name name;
  Set(text, &name);
  return Start(__builtin_frame_address(0), &name);
}

uint64_t RangeStartEx(const EventAttributes* attributes) {
  Name name;
  ReadName(attributes, &name);
  return Start(__builtin_frame_address(0), &name);
}

void RangeEnd(uint64_t range) { End(__builtin_frame_address(0), range); }

int DomainRangePushEx(const void* domain, const EventAttributes* attributes) {
  if (IsIgnored(domain)) return kNoPushPopTracking;
  Name name;
  ReadName(attributes, &name);
  Push(__builtin_frame_address(0), &name);
  return kNoPushPopTracking;
}

int DomainRangePop(const void* domain) {
  if (!IsIgnored(domain)) Pop(__builtin_frame_address(0));
  return kNoPushPopTracking;
}

uint64_t DomainRangeStartEx(const void* domain, const EventAttributes* attributes) {
  if (IsIgnored(domain)) return 0;
  Name name;
  ReadName(attributes, &name);
  return Start(__builtin_frame_address(0), &name);
}

void DomainRangeEnd(const void* domain, uint64_t range) {
  if (!IsIgnored(domain)) End(__builtin_frame_address(0), range);
}

const void* DomainOf(const Name& name) { return IsLibraryDomain(name.view()) ? &kIgnoredDomain : &kRecordedDomain; }

const void* DomainCreateA(const char* text) {
  Name name;
  Set(text, &name);
  return DomainOf(name);
}

const void* DomainCreateW(const wchar_t* text) {
  Name name;
  Set(text, &name);
  return DomainOf(name);
}

const void* DomainRegisterStringA(const void* domain, const char* text) {
  if (IsIgnored(domain)) return nullptr;
  Name name;
  Set(text, &name);
  return Keep(name);
}

const void* DomainRegisterStringW(const void* domain, const wchar_t* text) {
  if (IsIgnored(domain)) return nullptr;
  Name name;
  Set(text, &name);
  return Keep(name);
}

// A profiler has the place, or has a way of its own to it.
bool IsTaken() {
  if (getenv("CUDA_INJECTION64_PATH")) return true;
  const char* given = getenv(kInjectionVariable);
  if (!given || !*given) return false;
  Dl_info info;
  char own[PATH_MAX], named[PATH_MAX];
  if (!dladdr(&kRecordedDomain, &info) || !info.dli_fname || !realpath(info.dli_fname, own)) return true;
  return !realpath(given, named) || strcmp(own, named) != 0;
}

struct Slots {
  FunctionTable table = nullptr;
  unsigned size = 0;

  template <class F>
  void Set(unsigned id, F* function) const {
    if (id < size && table[id]) *table[id] = reinterpret_cast<Function>(function);
  }
};

Slots SlotsOf(const Callbacks& callbacks, Module module) {
  Slots slots;
  if (!callbacks.GetModuleFunctionTable(module, &slots.table, &slots.size) || !slots.table) slots.size = 0;
  return slots;
}

int Attach(GetExportTable get_export_table) {
  if (IsSwitchedOff() || !get_export_table || IsTaken()) return 0;
  auto* callbacks = static_cast<const Callbacks*>(get_export_table(kCallbacks));
  if (!callbacks || callbacks->struct_size < sizeof(Callbacks) || !callbacks->GetModuleFunctionTable) return 0;
  Slots core = SlotsOf(*callbacks, kCore);
  if (core.size == 0) return 0;
  core.Set(kRangeStartEx, RangeStartEx);
  core.Set(kRangeStartA, RangeStartA);
  core.Set(kRangeStartW, RangeStartW);
  core.Set(kRangeEnd, RangeEnd);
  core.Set(kRangePushEx, RangePushEx);
  core.Set(kRangePushA, RangePushA);
  core.Set(kRangePushW, RangePushW);
  core.Set(kRangePop, RangePop);
  Slots domains = SlotsOf(*callbacks, kCore2);
  domains.Set(kDomainRangeStartEx, DomainRangeStartEx);
  domains.Set(kDomainRangeEnd, DomainRangeEnd);
  domains.Set(kDomainRangePushEx, DomainRangePushEx);
  domains.Set(kDomainRangePop, DomainRangePop);
  domains.Set(kDomainRegisterStringA, DomainRegisterStringA);
  domains.Set(kDomainRegisterStringW, DomainRegisterStringW);
  domains.Set(kDomainCreateA, DomainCreateA);
  domains.Set(kDomainCreateW, DomainCreateW);
  return 1;
}

}  // namespace
}  // namespace ddbg::shim::nvtx

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(
    ddbg::shim::nvtx::GetExportTable get_export_table) {
  return ddbg::shim::nvtx::Attach(get_export_table);
}
