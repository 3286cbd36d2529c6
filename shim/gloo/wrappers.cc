// Every row of names.def that is gloo's. Compiled without exceptions but not noexcept: gloo tells of time-outs and lost
// peers by exceptions, which pass.
#include "shim/gloo/wrapper.h"

namespace ddbg::shim::gloo {
namespace {

enum class Hook { NewContext, NewStore, NewBuffer };

constinit std::atomic<void*> g_kept[static_cast<size_t>(Function::kCount)] = {};

[[gnu::always_inline]] inline void* Real(const void* caller, Function function, const char* name) {
  uint32_t index = static_cast<uint32_t>(function);
  return RealFunction(g_copies, caller, index, name, g_kept[index]);
}

template <Hook kHook>
inline void Note(Word a, Word b, Word c) {
  if constexpr (kHook == Hook::NewContext) NoteContext(a, static_cast<int32_t>(b), static_cast<int32_t>(c));
  if constexpr (kHook == Hook::NewStore) NoteStore(a, Object(b), c, false);
}

}  // namespace
}  // namespace ddbg::shim::gloo

namespace {
using ddbg::GlooCall;
using ddbg::shim::Word;
using ddbg::shim::gloo::Function;
using ddbg::shim::gloo::Hook;
using ddbg::shim::gloo::Note;
using ddbg::shim::gloo::NoteBuffer;
using ddbg::shim::gloo::Real;
using ddbg::shim::gloo::Run;
}  // namespace

#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]
#define DDBG_GLOO_NAME(call, symbol)                                                \
  DDBG_EXPORT Word symbol(Word a, Word b, Word c, Word d, Word e, Word f) {         \
    void* real = Real(__builtin_return_address(0), Function::k##symbol, #symbol);   \
    return Run<GlooCall::call>(__builtin_frame_address(0), real, a, b, c, d, e, f); \
  }
#define DDBG_GLOO_HOOK(hook, symbol)                                                    \
  DDBG_EXPORT Word symbol(Word a, Word b, Word c, Word d) {                             \
    void* real = Real(__builtin_return_address(0), Function::k##symbol, #symbol);       \
    Note<Hook::hook>(a, b, c);                                                          \
    Word result = reinterpret_cast<Word (*)(Word, Word, Word, Word)>(real)(a, b, c, d); \
    if constexpr (Hook::hook == Hook::NewBuffer) NoteBuffer(a, b);                      \
    return result;                                                                      \
  }
#include "shim/gloo/names.def"
