#include "analyzer/report/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analyzer/model/duration.h"

namespace ddbg::analyzer {
namespace {

int64_t ToNs(double seconds) {
  double ns = seconds * 1e9;
  if (ns >= 9.2e18) return INT64_MAX;
  return ns <= -9.2e18 ? INT64_MIN : static_cast<int64_t>(ns);
}

}  // namespace

std::pair<int64_t, int64_t> Selection::Window(const Timeline& timeline) const {
  int64_t from = from_s ? ToNs(*from_s) : INT64_MIN / 2;
  int64_t to = to_s ? ToNs(*to_s) : INT64_MAX / 2;
  if (last_s) from = std::max(from, timeline.end_ns() - ToNs(*last_s));
  return {std::max(from, INT64_MIN / 2), std::min(to, INT64_MAX / 2)};
}

Result<StepRange> ParseSteps(std::string_view text) {
  StepRange range{};
  const char* end = text.data() + text.size();
  auto first = std::from_chars(text.data(), end, range.first);
  range.last = range.first;
  bool ok = first.ec == std::errc() && range.first >= 0;
  if (ok && first.ptr != end) {
    auto last = std::from_chars(first.ptr + 1, end, range.last);
    ok = *first.ptr == '-' && last.ec == std::errc() && last.ptr == end && range.last >= range.first;
  }
  if (!ok) return Error{fmt::format("\"{}\" is no step and no range of steps such as 3-7", text)};
  return range;
}

Result<std::set<int32_t>> ParseRanks(std::string_view text) {
  std::set<int32_t> ranks;
  std::string_view rest = text;
  auto number = [&](int32_t* out) {
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), *out);
    bool ok = error == std::errc() && *out >= 0;
    if (ok) rest.remove_prefix(end - rest.data());
    return ok;
  };
  Error error{fmt::format("\"{}\" is no list of ranks such as 0,3,8-11", text)};
  for (;;) {
    int32_t first = 0, last = 0;
    if (!number(&first)) return error;
    last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      if (!number(&last) || last < first || last - first > 10'000'000) return error;
    }
    for (int32_t rank = first; rank <= last; ++rank) ranks.insert(ranks.end(), rank);
    if (rest.empty()) return ranks;
    if (!rest.starts_with(',')) return error;
    rest.remove_prefix(1);
  }
}

Result<Selection> SelectionText::Parse() const {
  Selection selection;
  selection.comm = comm, selection.from_s = from_s, selection.to_s = to_s;
  if (!ranks.empty()) {
    Result<std::set<int32_t>> parsed = ParseRanks(ranks);
    if (!parsed) return parsed.error();
    selection.ranks = *std::move(parsed);
  }
  if (!steps.empty()) {
    Result<StepRange> parsed = ParseSteps(steps);
    if (!parsed) return parsed.error();
    selection.steps = *parsed;
  }
  if (!last.empty()) {
    Result<int64_t> parsed = ParseDuration(last);
    if (!parsed) return Error{"--last: " + parsed.error().text};
    selection.last_s = static_cast<double>(*parsed) / 1e9;
  }
  if (from_s && to_s && *from_s > *to_s) return Error{fmt::format("--from {} is after --to {}", *from_s, *to_s)};
  return selection;
}

}  // namespace ddbg::analyzer
