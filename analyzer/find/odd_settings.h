// NCCL's settings and version where some of a communicator's ranks have others than most.
#pragma once

#include <string>
#include <vector>

#include "analyzer/context.h"

namespace ddbg::analyzer {

struct OddSetting {
  std::string sentence;        // "NCCL_IB_HCA is mlx5_0 on rank 1, where most have mlx5_1"
  std::vector<int32_t> ranks;  // that differ, ascending; empty on a tie
};

// NCCL_* variables, but for those of its debug output, and the version of the library; by name.
std::vector<OddSetting> OddSettings(const Context& context, const std::vector<size_t>& processes);

}  // namespace ddbg::analyzer
