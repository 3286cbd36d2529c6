#include "shim/recorder/unwinder.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>

#include <initializer_list>

namespace ddbg::shim {
namespace {

#define DDBG_TEXT_OF(name) #name
#define DDBG_TEXT(name) DDBG_TEXT_OF(name)

struct Unwinder {
  int (*backtrace)(void** frames, int size);
#if defined(__x86_64__)
  int (*get_context)(unw_context_t*);
  decltype(&unw_init_local) init_local;
  decltype(&unw_step) step;
  decltype(&unw_get_reg) get_reg;
  decltype(&unw_get_save_loc) get_save_loc;
  decltype(&unw_is_signal_frame) is_signal_frame;
#endif
};
constinit Unwinder g_unwinder = {};

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

bool FindAll(void* library, Unwinder* unwinder) {
  // LLVM's libunwind goes by the same name and has no unw_backtrace.
  return Find(library, "unw_backtrace", &unwinder->backtrace)
#if defined(__x86_64__)
         && Find(library, DDBG_TEXT(UNW_ARCH_OBJ(getcontext)), &unwinder->get_context) &&
         Find(library, DDBG_TEXT(UNW_OBJ(init_local)), &unwinder->init_local) &&
         Find(library, DDBG_TEXT(UNW_OBJ(step)), &unwinder->step) &&
         Find(library, DDBG_TEXT(UNW_OBJ(get_reg)), &unwinder->get_reg) &&
         Find(library, DDBG_TEXT(UNW_OBJ(get_save_loc)), &unwinder->get_save_loc) &&
         Find(library, DDBG_TEXT(UNW_OBJ(is_signal_frame)), &unwinder->is_signal_frame)
#endif
      ;
}

#if defined(__x86_64__)
// The frames of this thread, outwards from the function that makes it.
class Cursor {
 public:
  [[gnu::always_inline]] Cursor() { good_ = u_.get_context(&context_) == 0 && u_.init_local(&cursor_, &context_) == 0; }

  bool Step() {
    good_ = good_ && u_.step(&cursor_) > 0;
    return good_;
  }
  uintptr_t Register(unw_regnum_t number) {
    unw_word_t value = 0;
    return u_.get_reg(&cursor_, number, &value) == 0 ? value : 0;
  }
  uintptr_t stack_pointer() { return Register(UNW_X86_64_RSP); }
  uintptr_t frame_pointer() { return Register(UNW_X86_64_RBP); }
  uintptr_t instruction() { return Register(UNW_REG_IP); }

  bool IsSignalFrame() { return u_.is_signal_frame(&cursor_) != 0; }

  // Where this frame's frame pointer was saved by those inside it; 0: it is still in its register.
  uintptr_t SavedFramePointer() {
    unw_save_loc_t place;
    bool known = u_.get_save_loc(&cursor_, UNW_X86_64_RBP, &place) == 0 && place.type == UNW_SLT_MEMORY;
    return known ? place.u.addr : 0;
  }

 private:
  const Unwinder& u_ = g_unwinder;
  unw_context_t context_;
  unw_cursor_t cursor_;
  bool good_;
};
#endif

}  // namespace

const char* LoadUnwinder() noexcept {
  if (g_unwinder.backtrace) return nullptr;
  for (const char* name : {"libunwind.so.8", "libunwind.so.1", "libunwind.so"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    Unwinder found = {};
    if (!FindAll(library, &found)) {
      dlclose(library);
      continue;
    }
    void* warm[4];
    found.backtrace(warm, 4);
    g_unwinder = found;
    return nullptr;
  }
  return "libunwind.so.8 is missing";
}

int Backtrace(uintptr_t* frames, int most) noexcept {
  return g_unwinder.backtrace(reinterpret_cast<void**>(frames), most);
}

#if defined(__x86_64__)
// The ABI fixes that a frame's return address lies below its caller's stack pointer; unwinding needs no other register
// than the stack and the frame pointer, but for hand-written code.
int FindStackWords(uintptr_t frame, const uintptr_t* returns_to, int count, StackWord* words) noexcept {
  constexpr uintptr_t kWord = sizeof(uintptr_t);
  auto word_at = [](uintptr_t address) { return StackWord{address, *reinterpret_cast<const uintptr_t*>(address)}; };
  Cursor cursor;
  do {
    if (!cursor.Step()) return 0;
  } while (cursor.stack_pointer() < frame + 2 * kWord);
  if (cursor.stack_pointer() != frame + 2 * kWord) return 0;
  int n = 0;
  words[n++] = word_at(frame + kWord);
  for (int i = 0;; ++i) {
    if (cursor.instruction() != returns_to[i] || cursor.IsSignalFrame()) return 0;
    uintptr_t inner = cursor.stack_pointer(), pointer = cursor.frame_pointer(), saved = cursor.SavedFramePointer();
    if (i + 1 == count || !cursor.Step()) return i + 1 == count ? n : 0;
    uintptr_t outer = cursor.stack_pointer();
    if (outer <= inner) return 0;
    // The register is of use to a frame only if it points into it; else it holds a value like any other.
    if (pointer >= inner && pointer < outer) {
      if (saved < frame || saved >= outer) return 0;
      words[n++] = word_at(saved);
    }
    words[n++] = word_at(outer - kWord);
    if (words[n - 1].value != returns_to[i + 1]) return 0;
  }
}
#else
int FindStackWords(uintptr_t, const uintptr_t*, int, StackWord*) noexcept { return 0; }
#endif

}  // namespace ddbg::shim
