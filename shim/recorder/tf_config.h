// TF_CONFIG, by which TensorFlow's distribution strategies are told their cluster:
//   {"cluster": {"chief": ["host:port"], "worker": ["host:port", …]}, "task": {"type": "worker", "index": 1}}
// Read where it lies: no allocation, no recursion without a bound, any bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace ddbg::shim {

struct TfTask {
  bool valid = false;  // JSON as a whole, with a cluster
  // As tf.distribute numbers them: the chief (or master) is 0, then the workers. −1: a parameter server, an evaluator,
  // no task, or an index that is no number of 0 to 2³¹−1.
  int32_t rank = -1;
  int32_t size = -1;  // chief and workers
};

TfTask ReadTfConfig(std::string_view text) noexcept;

}  // namespace ddbg::shim
