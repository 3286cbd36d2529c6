// TF_CONFIG of a process, by which TensorFlow's distribution strategies are told their cluster. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

struct TfConfig {
  bool valid = false;   // JSON with a cluster and a task
  std::string cluster;  // JSON text with sorted keys, equal where the clusters are; "" if there is none
  std::vector<std::string> chiefs, workers;  // their addresses
  std::string type;                          // of this task: "chief", "worker", "ps", "evaluator"
  int64_t index = -1;

  // As tf.distribute numbers them: chiefs, then workers. −1: another type of task. May be out of range.
  int32_t Rank() const;
  int32_t Size() const { return static_cast<int32_t>(chiefs.size() + workers.size()); }
  bool InRange() const;
};

// "worker 1 (host:port)" of a rank.
std::string TaskName(const TfConfig& config, int32_t rank);

// nullopt: it has no TF_CONFIG.
std::optional<TfConfig> TfConfigOf(const Process& process);

}  // namespace ddbg::analyzer
