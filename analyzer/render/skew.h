// What `ddbg skew` prints.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/model/model.h"
#include "analyzer/render/output.h"
#include "analyzer/report/skew.h"

namespace ddbg::analyzer {

// `slo_ns`: what the 99th percentile is compared with.
void PrintSkewJson(const Run& run, const SkewReport& report, std::optional<int64_t> slo_ns, Output& out);
void PrintSkewText(const Run& run, const SkewReport& report, std::optional<int64_t> slo_ns, Output& out);

}  // namespace ddbg::analyzer
