// The end of a long trace: what comes before is added up as the collector adds up what it drops, so that everything
// else takes it for the same.
#include <algorithm>
#include <unordered_map>

#include "analyzer/load/process_loader.h"
#include "proto/operations.h"

namespace ddbg::analyzer {
namespace {

// Of a process that hangs since before the window what it did last is told all the same.
constexpr size_t kAlwaysKept = 1000;
constexpr size_t kStride = 4096;  // calls that come in before it is looked again which are too old

int64_t EndOf(const Call& call) {
  int64_t end;
  return __builtin_add_overflow(call.start_ns, call.duration_ns, &end) ? INT64_MAX : end;
}

const CallInfo* InfoOf(const Call& call) { return call.known() ? &call.info() : nullptr; }

}  // namespace

void ProcessLoader::DropOlder() {
  if (keep_from_ns_ == INT64_MIN && keep_last_ == SIZE_MAX) return;
  if (process_.calls.size() < drop_at_) return;
  int64_t from = keep_from_ns_;
  // By half at once, so that each call is moved a few times only.
  if (keep_last_ < process_.calls.size() / 2)
    from = std::max(from, process_.calls[process_.calls.size() - keep_last_].start_ns);
  if (from != INT64_MIN) DropBefore(from);
  drop_at_ = process_.calls.size() + kStride;
}

// Kept are calls that were not over then, operations that were not, and what stays for good.
void ProcessLoader::DropBefore(int64_t told_ns) {
  std::vector<Call>& calls = process_.calls;
  auto older = [&](const Call& call) { return call.start_ns < told_ns; };
  size_t end = static_cast<size_t>(std::partition_point(calls.begin(), calls.end(), older) - calls.begin());
  end = std::min(end, calls.size() - std::min(calls.size(), std::min(kAlwaysKept, keep_last_)));
  if (end == 0) return;
  told_ns = std::min(told_ns, end < calls.size() ? calls[end].start_ns : told_ns);
  std::unordered_map<uint64_t, const Call*> over;  // operations, by what completed them
  for (size_t i = 0; i < end; ++i)
    if (CompletesOperation(InfoOf(calls[i]), calls[i].call, calls[i].aux, calls[i].flags))
      over[calls[i].aux] = &calls[i];
  size_t kept = 0, corrected = 0;
  std::vector<Call> stay;
  for (size_t i = 0; i < end; ++i) {
    Call call = calls[i];
    const CallInfo* info = InfoOf(call);
    bool stays = EndOf(call) >= told_ns || StaysForGood(info, call.call, call.result);
    Direction direction = info ? DirectionOf(*info, call.op, call.flags) : Direction::kNone;
    if (!stays && info && PostsOperation(*info) && call.aux != 0 && !(call.flags & kFlagCompletedAtPost)) {
      auto done = over.find(call.aux);
      stays = done == over.end();
      if (!stays && direction == Direction::kReceive && done->second->peer != kNoPeer &&
          !(done->second->flags & kFlagStatusUnknown))
        call.peer = done->second->peer, call.tag = done->second->tag;
      if (!stays && (done->second->flags & kFlagCancelled)) direction = Direction::kNone;
    }
    if (stays) {
      stay.push_back(calls[i]);
      corrected += i < corrected_;
      continue;
    }
    Sum(call);
    if (direction == Direction::kNone || (info->api == Api::Nccl && (call.flags & kFlagCapturing))) continue;
    if (call.peer == kAnySource || (direction == Direction::kReceive && call.tag == kAnyTag)) {
      process_.dropped.uncounted = true;  // from whom it came nobody knows
      continue;
    }
    auto [at, fresh] = messages_.try_emplace({call.call, call.comm, call.peer, call.tag, call.op, call.flags},
                                             process_.dropped.messages.size());
    if (fresh) process_.dropped.messages.push_back({call.call, call.op, call.flags, call.comm, call.peer, call.tag, 0});
    ++process_.dropped.messages[at->second].times;
  }
  if (stay.size() == end) return;
  kept = stay.size();
  std::copy(stay.begin(), stay.end(), calls.begin());
  calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(kept), calls.begin() + static_cast<std::ptrdiff_t>(end));
  corrected_ = corrected_ > end ? corrected_ - (end - kept) : corrected;
  process_.dropped.by_choice = true;
}

void ProcessLoader::Sum(const Call& call) {
  ++process_.dropped.records;
  dropped_until_told_ns_ = std::max(dropped_until_told_ns_, EndOf(call));
  if (call.flags & kFlagSecondHalf) return;
  auto [at, fresh] = sums_.try_emplace({call.comm, call.call}, process_.dropped.sums.size());
  if (fresh) {
    process_.dropped.sums.push_back({call.start_ns, EndOf(call), call.call, call.comm});
  }
  CallSums& sums = process_.dropped.sums[at->second];
  sums.t_min_ns = std::min(sums.t_min_ns, call.start_ns);
  sums.t_max_ns = std::max(sums.t_max_ns, EndOf(call));
  ++sums.calls;
  sums.duration_ns += static_cast<uint64_t>(call.duration_ns);
  sums.longest_ns = std::max(sums.longest_ns, static_cast<uint64_t>(call.duration_ns));
  sums.count += call.count;
  if (!(call.flags & kFlagNothingDone)) sums.last_seq = std::max(sums.last_seq, call.seq);
}

}  // namespace ddbg::analyzer
