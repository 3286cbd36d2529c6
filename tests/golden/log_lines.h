// The lines of a golden log, but for calls: what each begins with, and what it does to the job. README.md says what
// they mean.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/golden/log_clocks.h"
#include "tests/golden/log_job.h"

namespace ddbg::analyzer {

struct LogLine {
  std::string begins;
  // What stands behind it; false if that makes no sense.
  std::function<bool(const std::string& rest)> carry_out;
};

// They act on what they are given, which must outlive them.
std::vector<LogLine> StartLines(LogJob* job);                    // how a job was started, and who it is
std::vector<LogLine> DeviceLines(LogJob* job);                   // NCCL and CUDA
std::vector<LogLine> TelemetryLines(LogJob* job);                // samples and wall clocks
std::vector<LogLine> TimeLines(LogJob* job, LogClocks* clocks);  // `at`, and those of timed logs

}  // namespace ddbg::analyzer
