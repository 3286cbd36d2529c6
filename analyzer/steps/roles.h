// What a communicator is for in a training job, inferred from how it is laid out and used. A guess with its doubt:
// rules that depend on it say so. Built once per run; by index into Matching::groups.
#pragma once

#include <string>
#include <vector>

#include "analyzer/match/match.h"
#include "analyzer/model/model.h"
#include "analyzer/steps/steps.h"

namespace ddbg::analyzer {

enum class Role { kUnknown, kWorld, kDataParallel, kTensorParallel, kPipelineParallel, kExpertParallel };

struct CommRole {
  Role role = Role::kUnknown;
  double confidence = 0.0;  // 0 to 1
  std::string why;          // one clause for people
};

class Roles {
 public:
  Roles(const Run& run, const Matching& matching, const Steps& steps);

  const CommRole& of(size_t group) const { return roles_[group]; }

 private:
  std::vector<CommRole> roles_;
};

// "data_parallel", "world", …; "unknown".
const char* RoleName(Role role);

}  // namespace ddbg::analyzer
