#include "analyzer/find/held_lock.h"

#include <fmt/format.h>

namespace ddbg::analyzer {
namespace {

constexpr int32_t kExclusive = 1;  // Call::tag of a lock

std::string WithLine(Context& context, size_t process, size_t call) {
  std::string line = context.Line(process, call);
  return context.Describe(process, call) + (line.empty() ? "" : " at " + line);
}

}  // namespace

std::string HeldLockText(Context& context, size_t waiter, const WaitEdge& edge) {
  const Call& lock = context.call(edge.to, edge.lock);
  return fmt::format("rank {} holds the {} lock of {} and is {}; rank {} waits for that lock in {}",
                     context.rank(edge.to), lock.tag == kExclusive ? "exclusive" : "shared",
                     WithLine(context, edge.to, edge.lock), context.WhereIs(edge.to), context.rank(waiter),
                     WithLine(context, waiter, edge.call));
}

BadEvent HeldLockEvent(Context& context, const WaitEdge& edge) {
  BadEvent event = context.Event(edge.to, edge.lock);
  const Situation& s = context.situation(edge.to);
  event.field = "lock";
  event.expected =
      context.call(edge.to, edge.lock).info().shape == CallShape::All ? "MPI_Win_unlock_all" : "MPI_Win_unlock";
  event.actual = s.open_call != kNoIndex ? context.Describe(edge.to, s.open_call) : context.WhereIs(edge.to);
  return event;
}

}  // namespace ddbg::analyzer
