#include "analyzer/context/group_timeout.h"

#include <charconv>
#include <string_view>

#include "analyzer/model/told.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kEndsMainThread = 1;
// gloo/transport/*/unbound_buffer.cc: "Timed out waiting 5000ms for recv operation to complete".
constexpr std::string_view kWords = "Timed out waiting ";

}  // namespace

std::optional<GroupTimeout> TimeoutOf(const Process& process) {
  for (const ToldEvent& event : EventsTold(process, "exception")) {
    size_t at = event.text.find(kWords);
    if (event.number != kEndsMainThread || at == std::string::npos) continue;
    GroupTimeout timeout{event.call, process.calls[event.call].start_ns};
    std::string_view rest = std::string_view(event.text).substr(at + kWords.size());
    int64_t limit = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), limit);
    if (error == std::errc() && std::string_view(end, rest.data() + rest.size()).starts_with("ms"))
      timeout.limit_ms = limit;
    return timeout;
  }
  return std::nullopt;
}

}  // namespace ddbg::analyzer
