// What `ddbg stacks` prints of a tree of stacks. JSON: one object, schema "ddbg.stacks/1". Folded: a line a call,
// "frame;frame;call weight", as flamegraph.pl and speedscope read it; the weight is ranks, or microseconds of a window.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/render/output.h"
#include "analyzer/report/stack_tree.h"

namespace ddbg::analyzer {

struct StacksInput {
  const Run& run;
  const StackTree& tree;
  const StackSelection& selection;
  const std::vector<std::string>& caveats;
};

void PrintStacksText(const StacksInput& input, Output& out);
void PrintStacksJson(const StacksInput& input, Output& out);
void PrintStacksFolded(const StacksInput& input, Output& out);

}  // namespace ddbg::analyzer
