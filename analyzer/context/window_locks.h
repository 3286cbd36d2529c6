// Who waits for whom for the locks of windows (passive targets, MPI 4.1, 12.5.3). An exclusive lock of a target keeps
// everybody else's lock of it out, a shared one the exclusive ones; MPI_Win_lock_all is shared, at all targets.
//
// A library may hold a lock when MPI_Win_lock returns (Open MPI, MPICH 4), or ask for it only with what follows and
// wait in that. So a lock that somebody seems to hold is certain in these cases alone:
//   * a flush of an operation under it has returned;
//   * another waits for the same lock of the same target, which is in MPI and thus answers: somebody must hold it, and
//     these are all who can.
// Who keeps the target from answering, by staying out of MPI, is not claimed to be waited for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/context/waits.h"

namespace ddbg::analyzer {

// A lock that was taken, or is waited for, and has not been given back.
struct WindowLock {
  size_t call = kNoIndex;        // that takes it
  int32_t target = kAllTargets;  // rank in the window's group
  bool exclusive = false;
  bool returned = false;         // the call
  std::map<int32_t, bool> used;  // targets of operations under it; true: one has been flushed since

  static constexpr int32_t kAllTargets = -1;
  bool Covers(int32_t of) const { return target == kAllTargets || of == kAllTargets || target == of; }
};

class WindowLocks {
 public:
  explicit WindowLocks(Context& context) : context_(context), most_edges_(MostEdges(context)) {}

  // Edges of a program that is in a call of locking, unlocking or flushing, or waits for an operation of one-sided
  // communication: to those who hold a lock that this one needs.
  void AddCall(size_t process, size_t index, WaitNode* node);

 private:
  using ByWindow = std::map<uint64_t, std::vector<WindowLock>>;  // uid → locks

  struct Wanted {
    uint64_t window = 0;
    int32_t target = WindowLock::kAllTargets;
    bool exclusive = false;
    bool in_lock = false;  // of another process: the library waits in MPI_Win_lock itself
  };
  struct Holder {
    size_t process = kNoIndex;
    const WindowLock* lock = nullptr;
    bool used = false, flushed = false;  // at the wanted target
  };

  const ByWindow& LocksOf(size_t process);
  ByWindow ReadLocks(size_t process) const;
  void ReadCall(size_t process, size_t index, ByWindow* locks) const;
  std::vector<Wanted> WantedBy(size_t process, size_t index);
  std::vector<Holder> HoldersOf(size_t process, const Wanted& wanted, bool* complete);
  std::vector<Holder> Certain(size_t process, const Wanted& wanted);
  bool WaitsItself(size_t process, const Wanted& wanted) const;
  bool Answers(size_t process, const Wanted& wanted) const;

  Context& context_;
  size_t most_edges_;
  std::vector<std::optional<ByWindow>> locks_;  // by process, once asked for
};

}  // namespace ddbg::analyzer
