// The files of /proc/PID that a process is sampled from, read as text (proc(5)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ddbg::collector {

// /proc/PID/stat. The command name may hold blanks, parentheses and line ends.
struct ProcessStat {
  char state = 0;
  int64_t major_faults = 0;
  int64_t user_ticks = 0, system_ticks = 0;  // of sysconf(_SC_CLK_TCK)
  int64_t threads = 0;
};
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

// /proc/PID/schedstat, of one thread.
struct ThreadTimes {
  int64_t run_ns = 0;
  int64_t wait_ns = 0;  // in the run queue
};
std::optional<ThreadTimes> ParseSchedstat(std::string_view text);

// /proc/PID/status.
struct ProcessStatus {
  int64_t resident_kb = 0, anonymous_kb = 0, swap_kb = 0;
  int64_t voluntary_switches = 0, involuntary_switches = 0;
  int64_t tracer = 0;
};
std::optional<ProcessStatus> ParseStatus(std::string_view text);

// /proc/PID/io: what really went from and to storage.
struct ProcessIo {
  int64_t read_bytes = 0, written_bytes = 0;
};
std::optional<ProcessIo> ParseIo(std::string_view text);

}  // namespace ddbg::collector
