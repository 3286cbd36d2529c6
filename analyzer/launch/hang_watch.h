// Notices that a running job makes no progress, from its trace files as they grow. Cheap while there is progress: then
// it only looks at file sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

// No process has finished a call for `seconds` and some call is open. Times by the clock of this host, or by wall
// clocks where no rank is on it; `now_ns` is CLOCK_REALTIME.
bool IsHanging(const Run& run, double seconds, int64_t now_ns);

class HangWatch {
 public:
  // `run_dir` need not exist yet. seconds = 0: never looks.
  HangWatch(std::string run_dir, double seconds) : run_dir_(std::move(run_dir)), seconds_(seconds) {}

  // The run, the first time that it is found hanging; nullopt before and after. Call every few seconds.
  std::optional<Run> Look();

 private:
  // True if the files grew so little that no calls can have come.
  bool IsQuiet(const std::string& attempt_dir);

  std::string run_dir_;
  double seconds_;
  bool told_ = false;
  std::map<std::string, uint64_t> sizes_;
  int64_t quiet_since_ns_ = 0;  // CLOCK_MONOTONIC; 0: not quiet
};

}  // namespace ddbg::analyzer
