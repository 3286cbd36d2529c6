#include "analyzer/model/told.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

// Indices of its marks of a kind that have this name.
std::vector<size_t> Marks(const Process& process, CallKind kind, std::string_view name) {
  std::vector<size_t> marks;
  auto has = [&](const auto& known) { return known.second == name; };
  if (std::none_of(process.mark_names.begin(), process.mark_names.end(), has)) return marks;
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const Call& call = process.calls[i];
    if (IsMark(call) && call.info().kind == kind && MarkName(process, call) == name) marks.push_back(i);
  }
  return marks;
}

}  // namespace

std::vector<ToldEvent> EventsTold(const Process& process, std::string_view name) {
  std::vector<ToldEvent> events;
  for (size_t i : Marks(process, CallKind::Event, name))
    events.push_back({i, MarkText(process, process.calls[i]), static_cast<int64_t>(process.calls[i].count)});
  return events;
}

std::vector<ToldValue> ValuesTold(const Process& process, std::string_view name) {
  std::vector<ToldValue> values;
  for (size_t i : Marks(process, CallKind::Value, name)) values.push_back({i, ValueOf(process.calls[i])});
  return values;
}

}  // namespace ddbg::analyzer
