// What `ddbg info` prints. JSON: one object, schema "ddbg.info/1", absent keys where nothing is known.
#pragma once

#include "analyzer/model/model.h"
#include "analyzer/render/output.h"

namespace ddbg::analyzer {

void PrintInfoText(const Run& run, Output& out);
// `telemetry`: every sample of nodes and processes, else what they add up to.
void PrintInfoJson(const Run& run, bool telemetry, Output& out);

}  // namespace ddbg::analyzer
