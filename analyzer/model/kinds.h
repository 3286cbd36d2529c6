// The kinds of anomaly and their classes (DESIGN 7, mission.md "Classes"). What to do about each: playbooks.h.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/model/finding.h"

namespace ddbg::analyzer {

// The class of one finding: its own, else its kind's.
std::string_view ClassOf(const Finding& finding);

// Of a kind that is not listed: infrastructure_discontinuity.
std::string_view ClassOfKind(std::string_view kind);

// In the order of their classes.
std::vector<std::string_view> AllKinds();

}  // namespace ddbg::analyzer
