// Hooks in PyTorch's c10d. They record nothing by themselves and change nothing: each calls the function that the
// caller would have got.
#include "shim/gloo/torch.h"

#include "shim/gloo/abi.h"
#include "shim/gloo/contexts.h"
#include "shim/gloo/functions.h"
#include "shim/recorder/stacks.h"

namespace ddbg::shim::gloo {
namespace {

constexpr const char* kNames[] = {
#define DDBG_TORCH_HOOK(hook, symbol) #symbol,
#include "shim/gloo/names.def"
};

constinit LibraryCopies g_torch_copies(kNames, static_cast<uint32_t>(TorchFunction::kCount),
                                       "_ZTVN4c10d16ProcessGroupGlooE");
constinit thread_local QueuedWork g_work [[gnu::tls_model("initial-exec")]];

constinit std::atomic<void*> g_kept[static_cast<size_t>(TorchFunction::kCount)] = {};

enum class Hook { NewStore, Enqueue, Execute };

// A c10::intrusive_ptr is one word, and passed by its address.
Word Target(Word pointer) { return pointer ? Read<Word>(reinterpret_cast<void*>(pointer), 0) : 0; }

// Only where gloo is recorded already: a queue alone starts no recording.
void NoteQueued(void* frame, Word work) {
  if (!g_tables || g_attached.load(std::memory_order_relaxed) == 0) return;
  ThreadState* t = Enter(frame);
  if (!t) return;
  uint32_t stack = CaptureStack(*t, true);
  Leave(*t);
  uint64_t key = static_cast<uint64_t>(work);
  if (uint32_t* old = g_tables->stacks.Find(key))
    *old = stack;
  else
    g_tables->stacks.Insert(key, stack);
}

uint32_t TakeQueued(Word work) {
  uint32_t* found = g_tables ? g_tables->stacks.Find(static_cast<uint64_t>(work)) : nullptr;
  if (!found) return 0;
  uint32_t stack = *found;
  g_tables->stacks.Remove(static_cast<uint64_t>(work));
  return stack;
}

template <Hook kHook>
[[gnu::always_inline]] inline Word Run(void* frame, const void* caller, TorchFunction function, Word a, Word b, Word c,
                                       Word d) {
  uint32_t index = static_cast<uint32_t>(function);
  void* real = RealFunction(g_torch_copies, caller, index, kNames[index], g_kept[index]);
  if constexpr (kHook == Hook::NewStore) NoteStore(a, reinterpret_cast<void*>(b), Target(c), true);
  if constexpr (kHook == Hook::Enqueue) NoteQueued(frame, Target(b));
  if constexpr (kHook == Hook::Execute) g_work = {true, TakeQueued(Target(a))};
  Word result = reinterpret_cast<Word (*)(Word, Word, Word, Word)>(real)(a, b, c, d);
  if constexpr (kHook == Hook::Execute) g_work = {};
  return result;
}

}  // namespace

QueuedWork CurrentWork() noexcept { return g_work; }

}  // namespace ddbg::shim::gloo

namespace {
using ddbg::shim::Word;
using ddbg::shim::gloo::Hook;
using ddbg::shim::gloo::Run;
using ddbg::shim::gloo::TorchFunction;
}  // namespace

#define DDBG_TORCH_HOOK(hook, symbol)                                                                                  \
  extern "C" [[gnu::visibility("default")]] Word symbol(Word a, Word b, Word c, Word d) {                              \
    return Run<Hook::hook>(__builtin_frame_address(0), __builtin_return_address(0), TorchFunction::k##symbol, a, b, c, \
                           d);                                                                                         \
  }
#include "shim/gloo/names.def"
