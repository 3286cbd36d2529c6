#include "analyzer/report/event_filter.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"

namespace ddbg::analyzer {
namespace {

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool NameMatches(std::string_view name, std::string_view wanted) {
  if (EqualIgnoringCase(name, wanted)) return true;
  for (std::string_view api : {"nccl", "cuda"})
    if (name.starts_with(api) && EqualIgnoringCase(name.substr(api.size()), wanted)) return true;
  size_t prefix = name.find('_');
  return prefix != name.npos && EqualIgnoringCase(name.substr(prefix + 1), wanted);
}

// The filter for the events of one process, with what is costly decided once.
class ProcessFilter {
 public:
  ProcessFilter(const Process& process, const EventFilter& filter) : process_(process), filter_(filter) {
    for (const auto& [id, comm] : process.comms) {
      if (!filter.comm.empty() && CommMatches(process, id, filter.comm)) comms_.insert(id);
    }
  }

  bool Passes(const Call& call) {
    if (!filter_.comm.empty() && !comms_.count(call.comm)) return false;
    if (!filter_.kind.empty() && KindName(call) != filter_.kind) return false;
    if (filter_.stream && (!FieldsOf(call).stream || call.tag != *filter_.stream)) return false;
    if (filter_.device && DeviceOf(process_, call) != *filter_.device) return false;
    return filter_.call.empty() || CallMatches(call);
  }

 private:
  bool CallMatches(const Call& call) {
    if (call.call == kUnknownCall) return NameMatches(CallName(process_, call), filter_.call);
    auto [known, fresh] = calls_.try_emplace(call.call);
    if (fresh) known->second = NameMatches(CallName(process_, call), filter_.call);
    return known->second;
  }

  const Process& process_;
  const EventFilter& filter_;
  std::set<uint32_t> comms_;
  std::unordered_map<uint16_t, bool> calls_;
};

// The events of one process that are left to be shown.
struct Cursor {
  size_t process, next, end;
  int64_t at_ns;
};

struct Later {
  bool operator()(const Cursor& a, const Cursor& b) const {
    return std::tie(a.at_ns, a.process) > std::tie(b.at_ns, b.process);
  }
};

// Calls of one process that lie in [from, to] of its own clock, wholly or in part. One that is open has no end.
class Window {
 public:
  Window(int64_t from, int64_t to) : from_(from), to_(to) {}

  // One past the last call that can be in it.
  size_t End(const std::vector<Call>& calls) const {
    auto end = std::partition_point(calls.begin(), calls.end(), [&](const Call& c) { return c.start_ns <= to_; });
    return end - calls.begin();
  }
  bool Has(const Call& call) const {
    int64_t end;
    return call.open() || __builtin_add_overflow(call.start_ns, call.duration_ns, &end) || end >= from_;
  }

 private:
  int64_t from_, to_;
};

bool IsInSteps(const EventFilter& filter, const Steps* steps, size_t process, size_t call) {
  return !filter.steps || filter.HasStep(steps ? steps->NumberOf(process, call) : -1);
}

}  // namespace

Result<void> CheckFilter(const EventFilter& filter) {
  std::string kinds = "completion, lost";
  bool known = filter.kind.empty() || filter.kind == "completion" || filter.kind == "lost" || filter.kind == "unknown";
  for (int kind = 0; kind <= static_cast<int>(CallKind::GraphDestroy); ++kind) {
    std::string_view name = KindName(static_cast<CallKind>(kind));
    known = known || name == filter.kind;
    kinds += fmt::format(", {}", name);
  }
  if (!known) return Error{fmt::format("there is no kind \"{}\"; the kinds are {}", filter.kind, kinds)};
  return {};
}

void ForEachEvent(const Run& run, const Timeline& timeline, const EventFilter& filter,
                  const std::function<bool(const Event&)>& show, const Steps* steps) {
  auto [from, to] = filter.Window(timeline);
  std::vector<ProcessFilter> filters;
  std::vector<Window> windows;
  std::priority_queue<Cursor, std::vector<Cursor>, Later> cursors;
  for (size_t i = 0; i < run.processes.size(); ++i) {
    const Process& process = run.processes[i];
    filters.emplace_back(process, filter);
    windows.emplace_back(timeline.Back(i, from), timeline.Back(i, to));
    if (!filter.HasRank(process.rank())) continue;
    size_t end = windows[i].End(process.calls);
    if (end > 0) cursors.push({i, 0, end, timeline.At(i, process.calls[0].start_ns)});
  }
  uint64_t shown = 0;
  while (!cursors.empty()) {
    Cursor cursor = cursors.top();
    cursors.pop();
    const std::vector<Call>& calls = run.processes[cursor.process].calls;
    const Call& call = calls[cursor.next];
    if (windows[cursor.process].Has(call) && filters[cursor.process].Passes(call) &&
        IsInSteps(filter, steps, cursor.process, cursor.next)) {
      if (filter.limit && shown++ == filter.limit) return;
      int64_t end_ns;
      if (call.open() || __builtin_add_overflow(call.start_ns, call.duration_ns, &end_ns)) end_ns = INT64_MAX;
      end_ns = timeline.At(cursor.process, end_ns);
      int64_t step = steps ? steps->NumberOf(cursor.process, cursor.next) : -1;
      if (!show({cursor.process, cursor.next, cursor.at_ns, end_ns, step})) return;
    }
    if (++cursor.next == cursor.end) continue;
    cursor.at_ns = timeline.At(cursor.process, calls[cursor.next].start_ns);
    cursors.push(cursor);
  }
}

}  // namespace ddbg::analyzer
