// Keeps the files of each process within its budget: what is being written becomes a part when it is large, and the
// oldest parts become a digest when all are too large together.
//
//     current ──full──▶ part 1, part 2, … ──too many──▶ kept
//
// Whatever ends the collector between two steps, each record is in a part or counted in `kept`, or both, which readers
// tell by its ring position.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "proto/result.h"

namespace ddbg::collector {

// Bytes at which a file becomes a part; 0: never.
uint64_t PartBytes(uint64_t budget);

// Renames the file being written, which nobody holds any more, to the next part. `path` is free then.
Result<void> MakePart(const std::string& path);

// Digests the oldest parts of `path` until all of it, with one more part to come, is within the budget, or `stop` is
// set. The error says which file could not be read or written; nothing is lost then.
Result<void> KeepWithin(const std::string& path, uint64_t budget, const std::atomic<bool>& stop);

// Does that on a thread of its own, since it takes seconds for a large part.
class BudgetKeeper {
 public:
  // `failed` is called on that thread with a sentence.
  explicit BudgetKeeper(std::function<void(std::string)> failed) : failed_(std::move(failed)) {}
  ~BudgetKeeper();  // finishes what it can in a few seconds
  BudgetKeeper(const BudgetKeeper&) = delete;
  BudgetKeeper& operator=(const BudgetKeeper&) = delete;

  // `path` has a new part.
  void Look(const std::string& path, uint64_t budget);

 private:
  void Run();

  std::function<void(std::string)> failed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, uint64_t>> waiting_;
  bool working_ = false;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // started by the first Look
};

}  // namespace ddbg::collector
