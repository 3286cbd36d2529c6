// The CPython frames of the calling thread, read without the GIL. The thread itself is inside the call that it made, so
// that none of its frames can go away meanwhile.
#pragma once

#include <cstdint>

#include "shim/recorder/python/layout.h"
#include "shim/recorder/python/readable_memory.h"
#include "shim/recorder/unwinder.h"

namespace ddbg::shim {

inline constexpr int kMaxPythonFrames = 48;
inline constexpr int kWordsPerPythonFrame = 8;
inline constexpr int kMaxPythonWords = (kMaxPythonFrames + 1) * kWordsPerPythonFrame;

// Where the thread's interpreter stands, cheap to ask. All 0: the thread is in no Python code.
struct PythonPlace {
  uintptr_t state;     // PyThreadState
  uintptr_t position;  // of the innermost frame; differs by call site
};

// One frame. Its texts are in the code object; they are not read before somebody asks.
struct PythonFrame {
  uintptr_t code;
  int line;
  bool begins_evaluation;  // called from C, not by the frame outside it
};

[[gnu::always_inline]] inline PythonPlace WherePythonIs(const PythonLayout& p) noexcept {
  auto word = [](uintptr_t address) { return *reinterpret_cast<const uintptr_t*>(address); };
  uintptr_t state = reinterpret_cast<uintptr_t>(p.this_thread_state());
  if (!state || p.is_finalizing()) return {};
  uintptr_t frame = word(state + p.state_frame);
  if (p.through_cframe && frame) frame = word(frame + p.cframe_frame);
  if (!frame) return {};
  return {state, word(frame + p.frame_code) ^ word(frame + p.frame_position)};
}

// The frames from `place` on, innermost first, at most kMaxPythonFrames; and all words they follow from, in an order in
// which each may be read once those before it are as they were. Returns how many frames; 0 also if the interpreter is
// not laid out as `p` says.
int WalkPython(const PythonLayout& p, const PythonPlace& place, ReadableMemory& memory, PythonFrame* frames,
               StackWord* words, int* word_count) noexcept;

// A str object as UTF-8, cut at `size`. Returns the bytes written; 0 if it is none.
int PythonText(const PythonLayout& p, ReadableMemory& memory, uintptr_t text, char* bytes, int size) noexcept;

// What a code object says of itself: addresses of str objects.
struct PythonCodeTexts {
  uintptr_t name, file;
  int first_line;
};
bool ReadCodeTexts(const PythonLayout& p, ReadableMemory& memory, uintptr_t code, PythonCodeTexts* texts) noexcept;

}  // namespace ddbg::shim
