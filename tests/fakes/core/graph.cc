#include "tests/fakes/core/graph.h"

#include <utility>

namespace nullgpu {

Error LaunchGraph(const GraphExec& exec, Stream& stream) {
  return Enqueue(stream, "graph", [graph = exec.graph]() -> Work {
    std::vector<Work> works;
    for (const GraphNode& node : graph->nodes) works.push_back(node.prepare());
    return [works = std::move(works)] {
      for (const Work& work : works) work();
    };
  });
}

}  // namespace nullgpu
