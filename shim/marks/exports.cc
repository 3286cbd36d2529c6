// The functions behind shim/ddbg.h. Compiled without that header: there they are looked up by name.
#include <string.h>

#include <bit>

#include "shim/marks/mark.h"

#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]

namespace ddbg::shim::marks {
namespace {

void MarkPhase(void* frame, MarkCall call, const char* name) {
  Mark(frame, call, [name](ThreadState& t, Record& mark) { mark.aux = Named(t, name); });
}

}  // namespace
}  // namespace ddbg::shim::marks

using ddbg::MarkCall;

DDBG_EXPORT void ddbg_step(int64_t number) {
  ddbg::shim::marks::Mark(
      __builtin_frame_address(0), MarkCall::ddbg_step,
      [number](ddbg::shim::ThreadState&, ddbg::Record& mark) { mark.count = static_cast<uint64_t>(number); });
}

DDBG_EXPORT void ddbg_phase_begin(const char* name) {
  ddbg::shim::marks::MarkPhase(__builtin_frame_address(0), MarkCall::ddbg_phase_begin, name);
}

DDBG_EXPORT void ddbg_phase_end(const char* name) {
  ddbg::shim::marks::MarkPhase(__builtin_frame_address(0), MarkCall::ddbg_phase_end, name);
}

DDBG_EXPORT void ddbg_value(const char* name, double value) {
  ddbg::shim::marks::Mark(__builtin_frame_address(0), MarkCall::ddbg_value,
                          [name, value](ddbg::shim::ThreadState& t, ddbg::Record& mark) {
                            mark.aux = ddbg::shim::marks::Named(t, name);
                            mark.count = std::bit_cast<uint64_t>(value);
                          });
}

DDBG_EXPORT void ddbg_event(const char* kind, const char* text, int64_t number, int64_t duration_ns) {
  using namespace ddbg::shim::marks;
  Mark(__builtin_frame_address(0), MarkCall::ddbg_event, [=](ddbg::shim::ThreadState& t, ddbg::Record& mark) {
    uint64_t text_id = text ? TextId(t, text, static_cast<uint32_t>(strnlen(text, kMaxTextBytes))) : 0;
    mark.aux = text_id << 32 | Named(t, kind);
    mark.count = static_cast<uint64_t>(number);
    SetDuration(duration_ns, &mark);
  });
}
