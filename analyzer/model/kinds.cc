#include "analyzer/model/kinds.h"

namespace ddbg::analyzer {
namespace {

constexpr std::string_view kControlFlow = "control_flow_divergence";
constexpr std::string_view kTiming = "timing_divergence";
constexpr std::string_view kState = "state_corruption";
constexpr std::string_view kInfrastructure = "infrastructure_discontinuity";

struct Kind {
  std::string_view name;
  std::string_view failure_class;
};

constexpr Kind kKinds[] = {
    {"argument_mismatch", kControlFlow},
    {"callsite_mismatch", kControlFlow},
    {"collective_mismatch", kControlFlow},
    {"concurrent_collectives", kControlFlow},
    {"early_exit", kControlFlow},
    {"message_truncated", kControlFlow},
    {"missing_collective", kControlFlow},
    {"order_inversion", kControlFlow},
    {"p2p_deadlock", kControlFlow},
    {"p2p_unmatched", kControlFlow},
    {"uncaught_exception", kControlFlow},
    {"wait_cycle", kControlFlow},

    {"cpu_contention", kTiming},
    {"io_stall", kTiming},
    {"loader_stall", kTiming},
    {"slow_link", kTiming},
    {"stall", kTiming},
    {"straggler", kTiming},

    {"buffer_modified", kState},
    {"comm_leak", kState},
    {"displacement_overflow", kState},
    {"duplicate_data", kState},
    {"nan_onset", kState},
    {"per_thread_stream", kState},
    {"precision_mismatch", kState},
    {"replica_divergence", kState},
    {"request_leak", kState},
    {"stale_weights", kState},
    {"tag_overflow", kState},

    {"async_error", kInfrastructure},
    {"call_error", kInfrastructure},
    {"clock_step", kInfrastructure},
    {"duplicate_device", kInfrastructure},
    {"duplicate_rank", kInfrastructure},
    {"env_mismatch", kInfrastructure},
    {"frozen", kInfrastructure},
    {"group_creation_mismatch", kInfrastructure},
    {"init_error", kInfrastructure},
    {"left_child", kInfrastructure},
    {"library_stall", kInfrastructure},
    {"missing_rank", kInfrastructure},
    {"not_traced", kInfrastructure},
    {"oom_kill", kInfrastructure},
    {"process_killed", kInfrastructure},
    {"singleton_world", kInfrastructure},
    {"throttled", kInfrastructure},
    {"version_mismatch", kInfrastructure},
    {"world_size_mismatch", kInfrastructure},
};

}  // namespace

std::string_view ClassOfKind(std::string_view kind) {
  for (const Kind& row : kKinds)
    if (row.name == kind) return row.failure_class;
  return kInfrastructure;
}

std::string_view ClassOf(const Finding& finding) {
  return finding.failure_class.empty() ? ClassOfKind(finding.kind) : std::string_view(finding.failure_class);
}

std::vector<std::string_view> AllKinds() {
  std::vector<std::string_view> names;
  for (const Kind& row : kKinds) names.push_back(row.name);
  return names;
}

}  // namespace ddbg::analyzer
