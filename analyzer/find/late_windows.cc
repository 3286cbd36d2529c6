#include "analyzer/find/late_windows.h"

#include <algorithm>

#include "analyzer/model/call_fields.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kWindowNs = 5'000'000'000;
constexpr int64_t kMostWindows = 512;
constexpr double kLateShare = 0.2;  // of a window

// Time in no call, by window of the axis.
using OwnTimes = std::vector<int64_t>;

struct Windows {
  int64_t begin = 0, length = kWindowNs;
  size_t count = 0;
};

// The time in which all ranks were there, since a rank that starts late or ends early is no matter of these.
Windows Divide(const Context& context) {
  int64_t begin = INT64_MIN, end = INT64_MAX;
  size_t ranks = 0;
  for (size_t i = 0; i < context.run.processes.size(); ++i) {
    const std::vector<Call>& calls = context.process(i).calls;
    if (!context.situation(i).communicates || calls.empty()) continue;
    ++ranks;
    begin = std::max(begin, context.StartNs(i, 0));
    end = std::min({end, context.EndNs(i, calls.size() - 1), context.situations.end_ns});
  }
  Windows windows;
  if (ranks < 2 || end <= begin) return windows;
  windows.begin = begin;
  int64_t count = std::min(kMostWindows, (end - begin) / kWindowNs);
  if (count == 0) return windows;
  windows.count = static_cast<size_t>(count);
  windows.length = (end - begin) / count;
  return windows;
}

OwnTimes OwnTimesOf(const Context& context, size_t process, const Windows& windows) {
  OwnTimes own(windows.count, windows.length);
  int64_t covered = INT64_MIN;
  auto take = [&](int64_t from, int64_t to) {  // in a call, on the axis
    from = std::max({from, covered, windows.begin});
    to = std::min(to, windows.begin + windows.length * static_cast<int64_t>(windows.count));
    while (from < to) {
      size_t w = static_cast<size_t>((from - windows.begin) / windows.length);
      int64_t next = windows.begin + windows.length * static_cast<int64_t>(w + 1);
      own[w] -= std::min(to, next) - from;
      from = next;
    }
    covered = std::max(covered, to);
  };
  const std::vector<Call>& calls = context.process(process).calls;
  for (size_t c = 0; c < calls.size(); ++c) {
    if (!calls[c].known() || IsPoll(calls[c]) || (calls[c].flags & kFlagSecondHalf)) continue;
    take(context.StartNs(process, c), std::min(context.EndNs(process, c), context.situations.end_ns));
  }
  return own;
}

// Of all but one whose own time is above it: the median of the others.
int64_t Usual(const std::vector<OwnTimes>& own, size_t window) {
  std::vector<int64_t> all;
  for (const OwnTimes& one : own)
    if (!one.empty()) all.push_back(one[window]);
  auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace

std::vector<std::vector<LateWindow>> FindLateWindows(const Context& context) {
  size_t processes = context.run.processes.size();
  std::vector<std::vector<LateWindow>> late(processes);
  Windows windows = Divide(context);
  if (windows.count == 0) return late;
  std::vector<OwnTimes> own(processes);
  for (size_t i = 0; i < processes; ++i)
    if (context.situation(i).communicates) own[i] = OwnTimesOf(context, i, windows);
  for (size_t w = 0; w < windows.count; ++w) {
    int64_t usual = Usual(own, w), least = static_cast<int64_t>(kLateShare * static_cast<double>(windows.length));
    for (size_t i = 0; i < processes; ++i) {
      if (own[i].empty() || own[i][w] - usual < least) continue;
      int64_t from = windows.begin + windows.length * static_cast<int64_t>(w);
      late[i].push_back(
          {context.timeline.Back(i, from), context.timeline.Back(i, from + windows.length), own[i][w] - usual});
    }
  }
  return late;
}

int64_t LateNs(const std::vector<LateWindow>& windows) {
  int64_t sum = 0;
  for (const LateWindow& window : windows) sum += window.late_ns;
  return sum;
}

size_t FirstLateCall(const Context& context, size_t process, const std::vector<LateWindow>& windows) {
  if (windows.empty()) return kNoIndex;
  const std::vector<Call>& calls = context.process(process).calls;
  auto first = std::lower_bound(calls.begin(), calls.end(), windows.front().from_ns,
                                [](const Call& call, int64_t t_ns) { return call.start_ns < t_ns; });
  for (; first != calls.end(); ++first)
    if (first->known() && !IsPoll(*first)) return static_cast<size_t>(first - calls.begin());
  return kNoIndex;
}

}  // namespace ddbg::analyzer
