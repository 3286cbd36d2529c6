// What `ddbg info` prints. JSON: one object, schema "ddbg.info/1", absent keys where nothing is known.
#pragma once

#include "analyzer/model.h"
#include "analyzer/render/output.h"

namespace ddbg::analyzer {

void PrintInfoText(const Run& run, Output& out);
void PrintInfoJson(const Run& run, Output& out);

}  // namespace ddbg::analyzer
