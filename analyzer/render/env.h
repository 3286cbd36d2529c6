// What `ddbg env` prints. JSON: one object, schema "ddbg.env/1"; the same values as FactsJson in other commands'
// output.
#pragma once

#include "analyzer/model/model.h"
#include "analyzer/render/json.h"
#include "analyzer/render/output.h"
#include "analyzer/report/env_diff.h"

namespace ddbg::analyzer {

struct EnvInput {
  const Run& run;
  const Run* other;  // nullptr: the ranks of one run were compared
  const FactComparison& comparison;
};

void PrintEnvText(const EnvInput& input, Output& out);
void PrintEnvJson(const EnvInput& input, Output& out);

// The differences alone, for `ddbg diff`.
void PrintFactsText(const EnvInput& input, Output& out);
Json FactsJson(const EnvInput& input);

}  // namespace ddbg::analyzer
