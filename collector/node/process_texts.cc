#include "collector/node/process_texts.h"

#include "collector/node/proc_text.h"

namespace ddbg::collector {

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  constexpr int kState = 3, kMajorFaults = 12, kUser = 14, kSystem = 15, kThreads = 20;
  size_t name_end = text.rfind(')');
  if (name_end == text.npos) return std::nullopt;
  text.remove_prefix(name_end + 1);
  ProcessStat stat;
  for (int field = kState; field <= kThreads; ++field) {
    std::string_view word = NextWord(&text);
    if (word.empty() || text.empty()) return std::nullopt;  // a number that is cut off is another number
    if (field == kState) {
      stat.state = word[0];
      continue;
    }
    std::optional<int64_t> number = ToNumber(word);
    if (!number) return std::nullopt;
    if (field == kMajorFaults) stat.major_faults = *number;
    if (field == kUser) stat.user_ticks = *number;
    if (field == kSystem) stat.system_ticks = *number;
    if (field == kThreads) stat.threads = *number;
  }
  return stat;
}

std::optional<ThreadTimes> ParseSchedstat(std::string_view text) {
  std::optional<int64_t> run = ToNumber(NextWord(&text)), wait = ToNumber(NextWord(&text));
  if (!run || !wait || text.empty()) return std::nullopt;
  return ThreadTimes{*run, *wait};
}

std::optional<ProcessStatus> ParseStatus(std::string_view text) {
  ProcessStatus status;
  std::optional<int64_t> tracer = NumberOf(text, "TracerPid:");
  if (!tracer) return std::nullopt;
  status.tracer = *tracer;
  // Kernel threads and zombies have no memory.
  status.resident_kb = NumberOf(text, "VmRSS:").value_or(0);
  status.anonymous_kb = NumberOf(text, "RssAnon:").value_or(0);
  status.swap_kb = NumberOf(text, "VmSwap:").value_or(0);
  status.voluntary_switches = NumberOf(text, "voluntary_ctxt_switches:").value_or(0);
  status.involuntary_switches = NumberOf(text, "nonvoluntary_ctxt_switches:").value_or(0);
  return status;
}

std::optional<ProcessIo> ParseIo(std::string_view text) {
  std::optional<int64_t> read = NumberOf(text, "read_bytes:"), written = NumberOf(text, "write_bytes:");
  if (!read || !written) return std::nullopt;
  return ProcessIo{*read, *written};
}

}  // namespace ddbg::collector
