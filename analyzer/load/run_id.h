// Names of runs.
#pragma once

#include <string>
#include <string_view>

namespace ddbg::analyzer {

// A UUID of version 7 (RFC 9562): the time in ms first, so that names sort by start, then 74 random bits.
std::string NewRunId();

// A run id names a directory: not empty, no slash, no control characters, no leading dot, not `latest`, at most 200
// bytes.
bool IsUsableRunId(std::string_view id);

}  // namespace ddbg::analyzer
