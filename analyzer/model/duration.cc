#include "analyzer/model/duration.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace ddbg::analyzer {
namespace {

// A number and what follows it; nullopt if there is none, or one that is negative or not finite.
std::optional<double> Number(std::string_view text, std::string_view* unit) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || std::signbit(number)) return std::nullopt;
  *unit = text.substr(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

Result<int64_t> ParseDuration(std::string_view text) {
  std::string_view unit;
  std::optional<double> number = Number(text, &unit);
  double ns = unit.empty() || unit == "s" ? 1e9
              : unit == "ms"              ? 1e6
              : unit == "us"              ? 1e3
              : unit == "m"               ? 60e9
              : unit == "h"               ? 3600e9
                                          : 0;
  if (!number || ns == 0)
    return Error{fmt::format("\"{}\" is no length of time: a number with s, m or h behind it, such as 5m", text)};
  if (*number * ns > 9e18) return Error{fmt::format("\"{}\" is too long a time", text)};
  return static_cast<int64_t>(*number * ns);
}

Result<uint64_t> ParseBytes(std::string_view text) {
  std::string_view unit;
  std::optional<double> number = Number(text, &unit);
  double bytes = 1;
  if (!unit.empty()) {
    size_t power = std::string_view("KMGT").find(unit[0]);
    if (power != std::string_view::npos) {
      bytes = std::pow(1024.0, static_cast<double>(power) + 1);
      unit.remove_prefix(1);
      if (unit.starts_with("i")) unit.remove_prefix(1);
    }
    if (unit == "B") unit = {};
  }
  if (!number || !unit.empty() || *number * bytes < 1 || *number * bytes > 9e18)
    return Error{fmt::format("\"{}\" is no amount of memory: a number with M or G behind it, such as 4G", text)};
  return static_cast<uint64_t>(*number * bytes);
}

}  // namespace ddbg::analyzer
