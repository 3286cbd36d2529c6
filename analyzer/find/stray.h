// A rank that took a turn it never took before, and that nobody else ever took: it left out a send, made a call too
// many, or left its loop. Tells what ranks do that wait for each other in messages, where each stage has a path of its
// own and no peer to be compared with but its own past.
#pragma once

#include <optional>

#include "analyzer/find/path.h"

namespace ddbg::analyzer {

struct Stray {
  size_t path = kNoIndex;  // index into the paths
  size_t at = 0;           // step
  Turn turn;
  size_t expected_path = kNoIndex;  // whose step turn.expected is: its own past, or a peer that is still there
};

// The earliest of `paths` (with messages) that ends on such a turn; nothing if none does, or if it cannot be told what
// was left out or added.
std::optional<Stray> FindStray(const Context& context, const std::vector<Path>& paths);

}  // namespace ddbg::analyzer
