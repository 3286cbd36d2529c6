#include "shim/recorder/frame_pointers.h"

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>

namespace ddbg::shim {
namespace {

struct Range {
  uintptr_t start, end;
};

// Sorted. Never changed and never freed: a thread may be reading it.
struct Code {
  static constexpr uint32_t kMost = 4096;
  uint32_t count;
  Range range[kMost];

  bool Holds(uintptr_t address) const {
    const Range* after = std::upper_bound(range, range + count, address,
                                          [](uintptr_t value, const Range& one) { return value < one.start; });
    return after != range && address < after[-1].end;
  }
};

constinit std::atomic<const Code*> g_code{nullptr};

int AddRanges(dl_phdr_info* info, size_t, void* code_found) {
  Code* code = static_cast<Code*>(code_found);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || code->count == Code::kMost) continue;
    uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    code->range[code->count++] = {start, start + segment.p_memsz};
  }
  return 0;
}

struct FrameRecord {
  uintptr_t caller;  // its frame pointer
  uintptr_t returns_to;
};

// Without the signature that pointer authentication puts into a return address.
uintptr_t Bare(uintptr_t returns_to) {
#if defined(__aarch64__)
  register uintptr_t x30 asm("x30") = returns_to;
  asm("hint #7" : "+r"(x30));  // xpaclri; does nothing on processors that have no signatures
  return x30;
#else
  return returns_to;
#endif
}

StackBounds FindStack() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {1, 1};
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  uintptr_t start = reinterpret_cast<uintptr_t>(low);
  return {start, start + bytes};
}

}  // namespace

void LearnCode() noexcept {
  void* memory =
      mmap(nullptr, sizeof(Code), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  Code* code = static_cast<Code*>(memory);
  dl_iterate_phdr(AddRanges, code);
  std::sort(code->range, code->range + code->count, [](const Range& a, const Range& b) { return a.start < b.start; });
  g_code.store(code, std::memory_order_release);  // pairs with the acquire in WalkFramePointers
}

int WalkFramePointers(ThreadState& t, uintptr_t* frames, int most) noexcept {
  const Code* code = g_code.load(std::memory_order_acquire);
  if (t.stack.end == 0) t.stack = FindStack();
  uintptr_t at = t.guard;
  int n = 0;
  if (at == 0) return 0;
  // This frame is ours and has a frame pointer, so its caller is known even on a stack that is not the thread's.
  frames[n++] = Bare(reinterpret_cast<const FrameRecord*>(at)->returns_to);
  if (!code || at < t.stack.low || at >= t.stack.end) return n;
  while (n < most) {
    uintptr_t next = reinterpret_cast<const FrameRecord*>(at)->caller;
    if (next <= at || next % sizeof(uintptr_t) != 0 || next > t.stack.end - sizeof(FrameRecord)) break;
    uintptr_t returns_to = Bare(reinterpret_cast<const FrameRecord*>(next)->returns_to);
    if (!code->Holds(returns_to)) break;
    frames[n++] = returns_to;
    at = next;
  }
  return n;
}

// The last one's word counts too: it ended the walk.
int FindFramePointerWords(uintptr_t frame, const uintptr_t*, int count, StackWord* words) noexcept {
  int n = 0;
  for (uintptr_t at = frame; n < 2 * count; at = words[n - 1].value) {
    const FrameRecord* record = reinterpret_cast<const FrameRecord*>(at);
    words[n++] = {at + sizeof(uintptr_t), record->returns_to};
    words[n++] = {at, record->caller};
  }
  return n;
}

}  // namespace ddbg::shim
