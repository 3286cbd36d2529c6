// The metrics of telemetry.def as an enumeration, with their names.
#pragma once

#include <cstdint>
#include <string_view>

namespace ddbg {

enum class Metric : uint32_t {
#define DDBG_METRIC(number, name, json_name, use) k##name = number,
#include "proto/telemetry.def"
#undef DDBG_METRIC
};

enum class MetricUse { kGauge, kCounter };

struct MetricInfo {
  Metric metric;
  std::string_view json_name;
  MetricUse use;
};

inline constexpr MetricInfo kMetrics[] = {
#define DDBG_METRIC(number, name, json_name, use) {Metric::k##name, #json_name, MetricUse::use},
#include "proto/telemetry.def"
#undef DDBG_METRIC
};

inline constexpr size_t kMetricCount = sizeof(kMetrics) / sizeof(kMetrics[0]);

// Index into kMetrics; kMetricCount of a number that this build does not know.
constexpr size_t MetricIndex(uint32_t number) {
  for (size_t i = 0; i < kMetricCount; ++i)
    if (static_cast<uint32_t>(kMetrics[i].metric) == number) return i;
  return kMetricCount;
}
constexpr size_t MetricIndex(Metric metric) { return MetricIndex(static_cast<uint32_t>(metric)); }

}  // namespace ddbg
