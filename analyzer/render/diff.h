// What `ddbg diff` prints. JSON: one object, schema "ddbg.diff/1".
#pragma once

#include "analyzer/render/env.h"
#include "analyzer/render/output.h"
#include "analyzer/report/run_diff.h"
#include "analyzer/stacks/stack_view.h"

namespace ddbg::analyzer {

struct DiffInput {
  const Run& good;
  const Run& bad;
  const RunDiff& diff;
  const FactComparison& facts;
  StackViews* views;

  // Structure, ranks or environment: what `diff` ends with 1 for. Times are never the same twice.
  bool different() const {
    return !diff.structural.empty() || !diff.only_good.empty() || !diff.only_bad.empty() || !facts.differences.empty();
  }
};

void PrintDiffText(const DiffInput& input, Output& out);
void PrintDiffJson(const DiffInput& input, Output& out);

}  // namespace ddbg::analyzer
