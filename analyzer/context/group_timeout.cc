#include "analyzer/context/group_timeout.h"

#include <charconv>
#include <string_view>

#include "analyzer/model/exceptions.h"

namespace ddbg::analyzer {
namespace {

// gloo/transport/*/unbound_buffer.cc: "Timed out waiting 5000ms for recv operation to complete".
constexpr std::string_view kWords = "Timed out waiting ";

}  // namespace

std::optional<GroupTimeout> TimeoutOf(const Process& process) {
  for (const Exception& exception : ExceptionsOf(process)) {
    size_t at = exception.what.find(kWords);
    if (!exception.in_main || at == std::string::npos) continue;
    GroupTimeout timeout{exception.call, process.calls[exception.call].start_ns};
    std::string_view rest = std::string_view(exception.what).substr(at + kWords.size());
    int64_t limit = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), limit);
    if (error == std::errc() && std::string_view(end, rest.data() + rest.size()).starts_with("ms"))
      timeout.limit_ms = limit;
    return timeout;
  }
  return std::nullopt;
}

}  // namespace ddbg::analyzer
