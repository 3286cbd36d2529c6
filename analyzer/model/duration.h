// Lengths of time and amounts of memory as people type them.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/result.h"

namespace ddbg::analyzer {

// "300", "300s", "5m", "1.5h", "250ms", "200us": ns, not negative. A bare number is seconds. The error is a sentence.
Result<int64_t> ParseDuration(std::string_view text);

// "4G", "512M", "65536K", "1000000": bytes, more than 0; units are powers of 1024, a "B" or "iB" behind them is fine.
Result<uint64_t> ParseBytes(std::string_view text);

}  // namespace ddbg::analyzer
