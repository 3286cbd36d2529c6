#include "analyzer/find/full_file_system.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "analyzer/load/telemetry.h"
#include "analyzer/model/format.h"

namespace ddbg::analyzer {

bool ExplainByFullFileSystem(Context& context, size_t process, Finding* finding) {
  constexpr int64_t kFullPart = 64;  // of it is left, at most
  const Process& p = context.process(process);
  const NodeTelemetry* node = NodeOf(context.run, p);
  if (p.end.how != ProcessEnd::kSignaled || p.end.code != SIGBUS || node == nullptr) return false;
  std::string full;
  for (const auto& [path, series] : node->file_systems) {
    // The entry after its end counts: what a process had mapped is freed only if nobody else has the file.
    auto after = std::lower_bound(series.t_ns.begin(), series.t_ns.end(), p.end.t_ns);
    int64_t t = after == series.t_ns.end() ? p.end.t_ns : *after;
    std::optional<int64_t> left = ValueAt(series, Metric::kAvailableKb, t);
    int64_t total = ValueAt(series, Metric::kTotalKb, t).value_or(0);
    if (!left || *left > total / kFullPart) continue;
    finding->evidence.push_back(fmt::format("{} was full: {} of {} left", path,
                                            BytesText(static_cast<uint64_t>(*left) * 1024),
                                            BytesText(static_cast<uint64_t>(total) * 1024)));
    full += (full.empty() ? "" : ", ") + path;
  }
  if (full.empty()) return false;
  size_t dot = finding->summary.rfind('.');
  finding->summary.insert(dot == std::string::npos ? finding->summary.size() : dot,
                          fmt::format("; {} was full, and SIGBUS is what a mapped file gets then", full));
  return true;
}

}  // namespace ddbg::analyzer
