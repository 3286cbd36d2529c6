// Graphs: operations to be done again and again.
//
// Not as on a GPU: the nodes of one launch run one after the other, in the order in which they were captured.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/core/stream.h"

namespace nullgpu {

struct GraphNode {
  std::string kind;
  Prepare prepare;
  std::vector<int> after;  // nodes that come before, by index
};

struct Graph {
  std::vector<GraphNode> nodes;
};

// A graph made ready to launch; later changes of the graph it came from do not reach it.
struct GraphExec {
  std::shared_ptr<const Graph> graph;
};

// All nodes are prepared on the calling thread, and run as one operation of the stream.
Error LaunchGraph(const GraphExec& exec, Stream& stream);

}  // namespace nullgpu
