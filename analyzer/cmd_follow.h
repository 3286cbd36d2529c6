// The part of ddbg diagnose that waits with a running job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/exit_code.h"
#include "analyzer/model/finding.h"

namespace ddbg::analyzer {

struct FollowCommand {
  std::vector<std::string> names;
  std::optional<int64_t> last_ns;
  double still_s = 10;    // see FollowJudge
  std::string playbooks;  // file of the user's own; "": the usual places
  bool json = false;
};

// Returns the exit code, of the verdict that it printed.
int RunFollow(const FollowCommand& command);

ExitCode CodeOf(Diagnosis::Verdict verdict);

}  // namespace ddbg::analyzer
