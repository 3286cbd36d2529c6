// How far a long load is, on stderr, for people who wait: only on a terminal, only once it has taken a second, and gone
// without a trace when it is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace ddbg::analyzer {

// Called now and then by what takes long: `done` of `total` bytes of what `what` says ("reading"). `total` 0: unknown.
// Cheap enough to be called a few thousand times; on one thread at a time.
using Progress = std::function<void(uint64_t done, uint64_t total, std::string_view what)>;

class ProgressLine {
 public:
  explicit ProgressLine(FILE* file = stderr);
  ~ProgressLine();  // takes the line away
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // May be handed to what takes long; the line must outlive it. Empty where there is no terminal.
  Progress callback();
  void Show(uint64_t done, uint64_t total, std::string_view what);

 private:
  using Clock = std::chrono::steady_clock;
  FILE* file_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point begin_ = Clock::now(), last_ = {};
};

// "reading: 1.2 GiB of 4.0 GiB, 30 %, 12 s left"; `seconds`: since it began.
std::string ProgressText(uint64_t done, uint64_t total, std::string_view what, double seconds);

}  // namespace ddbg::analyzer
