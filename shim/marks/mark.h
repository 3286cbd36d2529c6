// Records of what a program says of itself: one record, in the ring at once, since nothing can hang in it.
#pragma once

#include <errno.h>
#include <string.h>

#include <cstdint>

#include "proto/call.h"
#include "shim/recorder/recorder.h"

namespace ddbg::shim::marks {

// Id of a name, which is defined in the trace before its first use. At most kMaxNameBytes of it count. 0: `name` is
// nullptr or empty, or there is no room for more names.
inline constexpr uint32_t kMaxNameBytes = 127;
uint32_t NameId(ThreadState& t, const char* name, uint32_t bytes) noexcept;

// The same of a text, of which there may be as many as the program likes; at most kMaxTextBytes of it count. Ids of
// names and texts are of one row of numbers.
inline constexpr uint32_t kMaxTextBytes = 511;
uint32_t TextId(ThreadState& t, const char* text, uint32_t bytes) noexcept;

// A record of `call` without any argument yet, starting now, with the caller's stack.
Record NewMark(ThreadState& t, MarkCall call) noexcept;
// The mark tells of what has taken `duration_ns` until now: it began so much earlier.
void SetDuration(int64_t duration_ns, Record* mark) noexcept;
void Push(ThreadState& t, const Record& mark) noexcept;

// A whole mark: fill(thread, record) adds what it tells. `frame` is the exported function's own, from which the
// program's stack is recognised: no function of ours may lie between. Also a mark inside a recorded call (a callback of
// the program's that MPI makes) is recorded. errno stays as it is.
template <class Fill>
[[gnu::always_inline]] inline void Mark(void* frame, MarkCall call, Fill fill) {
  ThreadState* entered = Enter(frame);
  ThreadState* t = entered ? entered : Inside(frame);
  if (!t) return;
  int saved_errno = errno;
  Record mark = NewMark(*t, call);
  fill(*t, mark);
  Push(*t, mark);
  errno = saved_errno;
  if (entered) Leave(*t);
}

inline uint32_t Named(ThreadState& t, const char* name) {
  return name ? NameId(t, name, static_cast<uint32_t>(strnlen(name, kMaxNameBytes))) : 0;
}

}  // namespace ddbg::shim::marks
