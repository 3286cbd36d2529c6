// Which processes something is true of, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/render/json.h"

namespace ddbg::analyzer {

// "[0-3,7] 5 ranks"; processes without a rank by name.
std::string WhoText(const Run& run, const std::vector<size_t>& processes);

// Ranges, since thousands of ranks may be in each of many places: [[0,3],[7,7]].
Json RankRanges(const std::vector<int32_t>& ascending);
// Adds "rank_count", "rank_ranges" and, if there are any, "without_rank".
void PutWho(const Run& run, const std::vector<size_t>& processes, Json* json);

}  // namespace ddbg::analyzer
