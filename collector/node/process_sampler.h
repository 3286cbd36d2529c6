// Samples one recorded process once a second, from /proc (telemetry.def). Its packets come in batches of some seconds,
// at once where something happened that explains a hang: it stopped, sleeps for its disk, or is traced.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collector/node/sample_columns.h"
#include "collector/unique_fd.h"

namespace ddbg::collector {

class ProcessSampler {
 public:
  // `pid` as this process sees it; 0: cannot be seen, and nothing will be sampled.
  explicit ProcessSampler(pid_t pid);

  // Is a sample due?
  bool IsDue(int64_t now_ns) const;

  // Takes one. `threads`: of those that make recorded calls, ids as this process sees them. True if Take should follow.
  bool Sample(int64_t now_ns, const std::vector<uint32_t>& threads);

  // Appends what was sampled and not taken yet. `first_ns`, `last_ns`: its times; both 0 if there is none.
  void Take(std::string* chunk, int64_t* first_ns, int64_t* last_ns);

 private:
  bool ReadMain(std::vector<MetricValue>* values);
  void ReadThreads(const std::vector<uint32_t>& threads, std::vector<MetricValue>* values);
  void ReadWhere(int64_t now_ns);

  pid_t pid_;
  UniqueFd directory_;  // /proc/PID: of this process, even when its pid is another's
  int64_t last_ns_ = 0;
  char state_ = 0;
  int64_t tracer_ = 0;
  bool io_allowed_ = true;
  std::string where_;
  SampleColumns columns_{Subject::kProcess};
};

}  // namespace ddbg::collector
