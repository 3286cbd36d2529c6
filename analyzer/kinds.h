// The kinds of anomaly: class and what to do next, one row each (DESIGN 7, mission.md "Classes" and "Playbooks").
#pragma once

#include <string_view>

#include "analyzer/finding.h"

namespace ddbg::analyzer {

struct KindInfo {
  std::string_view kind;
  std::string_view failure_class;
  std::string_view next_steps[3];
};

// The class of one finding: its own, else its kind's.
std::string_view ClassOf(const Finding& finding);

// The row of `kind`; a row with empty next steps for one that is not listed.
const KindInfo& InfoOf(std::string_view kind);

}  // namespace ddbg::analyzer
