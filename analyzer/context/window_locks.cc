#include "analyzer/context/window_locks.h"

#include <algorithm>
#include <utility>

#include "analyzer/model/losses.h"

namespace ddbg::analyzer {
namespace {

constexpr int32_t kExclusive = 1;       // Call::tag of a lock
constexpr uint64_t kUnchecked = 1;      // Call::aux of a lock: with MPI_MODE_NOCHECK, which takes none
constexpr double kAnswerSeconds = 0.5;  // a target that has just come into MPI has not answered yet

bool IsAll(const Call& call) { return call.info().shape == CallShape::All; }

int32_t TargetOf(const Call& call) { return IsAll(call) ? WindowLock::kAllTargets : call.peer; }

// Of the target's side too: MPI_Win_flush_local says nothing of that.
bool FlushesTarget(const Call& call) {
  return call.info().name == "MPI_Win_flush" || call.info().name == "MPI_Win_flush_all";
}

}  // namespace

const WindowLocks::ByWindow& WindowLocks::LocksOf(size_t process) {
  locks_.resize(context_.run.processes.size());
  if (!locks_[process]) locks_[process] = ReadLocks(process);
  return *locks_[process];
}

WindowLocks::ByWindow WindowLocks::ReadLocks(size_t process) const {
  ByWindow locks;
  const std::vector<Call>& calls = context_.process(process).calls;
  for (size_t i = 0; i < calls.size(); ++i)
    if (calls[i].known() && calls[i].info().api == Api::Mpi && calls[i].start_ns < context_.situation(process).until_ns)
      ReadCall(process, i, &locks);
  return locks;
}

void WindowLocks::ReadCall(size_t process, size_t index, ByWindow* locks) const {
  const Call& call = context_.call(process, index);
  CallKind kind = call.info().kind;
  if (kind != CallKind::Lock && kind != CallKind::Unlock && kind != CallKind::Flush && kind != CallKind::Rma &&
      kind != CallKind::WinFree)
    return;
  uint64_t window = UidOf(context_.process(process), call);
  if (window == 0 || call.peer == kProcNull) return;
  bool returned = !call.open() && call.start_ns + call.duration_ns <= context_.situation(process).until_ns;
  std::vector<WindowLock>& held = (*locks)[window];
  int32_t target = TargetOf(call);
  switch (kind) {
    case CallKind::Lock:
      if (call.aux == kUnchecked || (returned && call.result != 0)) return;
      held.push_back({index, target, call.tag == kExclusive, returned, {}});
      return;
    case CallKind::Unlock:
      if (returned) std::erase_if(held, [&](const WindowLock& lock) { return lock.target == target; });
      return;
    case CallKind::Rma:
      for (WindowLock& lock : held)
        if (lock.Covers(target)) lock.used.try_emplace(target, false);
      return;
    case CallKind::Flush:
      if (!returned || call.result != 0 || !FlushesTarget(call)) return;
      for (WindowLock& lock : held)
        for (auto& [used, flushed] : lock.used)
          flushed = flushed || target == WindowLock::kAllTargets || target == used;
      return;
    default:
      if (returned) locks->erase(window);
      return;
  }
}

// What the call waits for: the lock that it takes, or those that it is made under and that may not be held yet.
std::vector<WindowLocks::Wanted> WindowLocks::WantedBy(size_t process, size_t index) {
  const Call& call = context_.call(process, index);
  uint64_t window = UidOf(context_.process(process), call);
  auto locks = LocksOf(process).find(window);
  if (window == 0 || call.peer == kProcNull || locks == LocksOf(process).end()) return {};
  bool locking = call.info().kind == CallKind::Lock;
  int32_t own = context_.process(process).comms.at(call.comm).rank;
  std::vector<Wanted> wanted;
  for (const WindowLock& lock : locks->second) {
    if (locking ? lock.call != index : !lock.Covers(TargetOf(call))) continue;
    if (locking) {
      wanted.push_back({window, lock.target, lock.exclusive, lock.target != own});
      continue;
    }
    for (const auto& [target, flushed] : lock.used)
      if (!flushed && (IsAll(call) || target == call.peer)) wanted.push_back({window, target, lock.exclusive, false});
  }
  return wanted;
}

// Everybody whose lock cannot be held together with the wanted one. `complete`: nobody else can have one.
std::vector<WindowLocks::Holder> WindowLocks::HoldersOf(size_t process, const Wanted& wanted, bool* complete) {
  std::vector<Holder> holders;
  const CommGroup* group = context_.matching.Group(wanted.window);
  if (!group) return {};
  *complete = group->complete();
  for (const Member& member : group->members) {
    if (member.process == process) continue;
    const Process& other = context_.process(member.process);
    if (LacksCalls(other) || other.dropped.until_ns > 0) *complete = false;
    if (LacksCalls(other)) continue;  // it may have given it back
    auto locks = LocksOf(member.process).find(wanted.window);
    if (locks == LocksOf(member.process).end()) continue;
    for (const WindowLock& lock : locks->second) {
      if (!lock.returned || !lock.Covers(wanted.target) || !(wanted.exclusive || lock.exclusive)) continue;
      auto used = lock.used.find(wanted.target == WindowLock::kAllTargets ? lock.target : wanted.target);
      bool flushed = used != lock.used.end() && used->second;
      if (!flushed && WaitsItself(member.process, wanted)) continue;
      holders.push_back({member.process, &lock, used != lock.used.end(), flushed});
    }
  }
  return holders;
}

// In a call that needs its lock, it has it no more than the one who asks.
bool WindowLocks::WaitsItself(size_t process, const Wanted& wanted) const {
  size_t open = context_.situation(process).open_call;
  if (open == kNoIndex) return false;
  const Call& call = context_.call(process, open);
  CallKind kind = call.info().kind;
  if (kind != CallKind::Unlock && kind != CallKind::Flush && kind != CallKind::Rma) return false;
  int32_t target = TargetOf(call);
  return UidOf(context_.process(process), call) == wanted.window &&
         (target == wanted.target || target == WindowLock::kAllTargets || wanted.target == WindowLock::kAllTargets);
}

// Is the target in MPI, or the one who asks?
bool WindowLocks::Answers(size_t process, const Wanted& wanted) const {
  const CommGroup* group = context_.matching.Group(wanted.window);
  const Member* target = group ? group->OfCommRank(wanted.target) : nullptr;
  if (!target) return false;
  if (target->process == process) return true;
  size_t open = context_.situation(target->process).open_call;
  if (open == kNoIndex || !context_.situation(target->process).alive_at_end()) return false;
  return context_.call(target->process, open).info().api == Api::Mpi &&
         context_.OpenSeconds(target->process, open) >= kAnswerSeconds;
}

std::vector<WindowLocks::Holder> WindowLocks::Certain(size_t process, const Wanted& wanted) {
  bool complete = false;
  std::vector<Holder> holders = HoldersOf(process, wanted, &complete);
  if (wanted.target == WindowLock::kAllTargets) {  // each exclusive lock of any target is in the way
    std::vector<Holder> certain;
    for (const Holder& holder : holders)
      for (const Holder& of : Certain(process, {wanted.window, holder.lock->target, false, wanted.in_lock}))
        if (of.lock == holder.lock) certain.push_back(of);
    return certain;
  }
  if (std::any_of(holders.begin(), holders.end(), [](const Holder& holder) { return holder.flushed; })) {
    std::erase_if(holders, [](const Holder& holder) { return !holder.flushed; });
    return holders;
  }
  if (!Answers(process, wanted) || (!wanted.in_lock && !complete)) return {};
  // Where MPI_Win_lock waits all who have returned from it hold theirs. Else those who did nothing under it may not.
  bool any_used = std::any_of(holders.begin(), holders.end(), [](const Holder& holder) { return holder.used; });
  if (!wanted.in_lock && any_used) std::erase_if(holders, [](const Holder& holder) { return !holder.used; });
  bool sure = wanted.in_lock || any_used || holders.size() == 1;
  bool together = holders.size() == 1 ||
                  std::none_of(holders.begin(), holders.end(), [](const Holder& h) { return h.lock->exclusive; });
  return sure && together ? holders : std::vector<Holder>();
}

void WindowLocks::AddCall(size_t process, size_t index, WaitNode* node) {
  for (const Wanted& wanted : WantedBy(process, index))
    for (const Holder& holder : Certain(process, wanted)) {
      if (node->edges.size() >= most_edges_) return;
      // Another thread of it may give it back.
      size_t open = context_.situation(holder.process).open_call;
      if (open != kNoIndex &&
          context_.call(holder.process, open).thread != context_.call(holder.process, holder.lock->call).thread)
        continue;
      WaitEdge edge{holder.process, context_.rank(holder.process), WaitKind::kLock, wanted.window, 0, index};
      edge.lock = holder.lock->call;
      node->edges.push_back(edge);
    }
}

}  // namespace ddbg::analyzer
