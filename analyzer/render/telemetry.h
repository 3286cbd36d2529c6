// What `ddbg info` says of the nodes and processes that were sampled.
#pragma once

#include <string>

#include "analyzer/model/model.h"
#include "analyzer/render/json.h"

namespace ddbg::analyzer {

// "node17: CPU 43 % busy of 8, 1 % stolen; memory 12.0 GiB of 31.2 GiB free at the least; 1 OOM kill": one host, a
// line.
std::string NodeText(const NodeTelemetry& node);

// The same in numbers, with what was sampled of cgroups, interfaces and file systems; `all`: every sample.
Json NodeJson(const NodeTelemetry& node, bool all);

// Of one process.
Json SamplesOf(const SampleSeries& series, bool all);

}  // namespace ddbg::analyzer
