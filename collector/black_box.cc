#include "collector/black_box.h"

#include <algorithm>

namespace ddbg::collector {
namespace {

// The record may have completions and other small things of the same call behind it, but not more than this.
constexpr uint64_t kCellsToSearch = 4096;

bool HasRecord(const Region& region, uint32_t slot, uint32_t lane, const Record& call) {
  uint64_t head = region.slot(slot)->lane[lane].head.load(std::memory_order_acquire);
  const Record* cells = region.cells(slot, lane);
  for (uint64_t back = 1, last = std::min(head, kCellsToSearch); back <= last; ++back) {
    const Record& record = cells[(head - back) % kLaneCells[lane]];
    if (record.start == call.start && record.call == call.call) return true;
  }
  return false;
}

}  // namespace

bool HadReturned(const Region& region, uint32_t slot, const OpenCallCopy& call) {
  return HasRecord(region, slot, kVitalLane, call.half[0]) || HasRecord(region, slot, kBulkLane, call.half[0]);
}

void AppendCallsInFlight(const Region& region, const TickMapper& mapper, int64_t seen_ns, std::string* chunk) {
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    OpenCallCopy call;
    if (!ReadOpenCall(region, slot, &call) || HadReturned(region, slot, call)) continue;
    AppendOpenCall(slot, call, mapper, seen_ns, chunk);
  }
}

LostCounts SumLost(const Region& region) {
  LostCounts sum{};
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    for (uint32_t cause = 0; cause < kLossCauses; ++cause) {
      sum[cause] += region.slot(slot)->lost[cause].load(std::memory_order_relaxed);
    }
  }
  return sum;
}

ProcessEnding EndingFromExitRecord(const Region& region) {
  using How = ProcessEnding::How;
  const RegionHeader& header = *region.header();
  if (header.exit_seen.load(std::memory_order_acquire) != 1) return {How::kGone, 0, false, ""};
  return {How::kExited, header.exit_code & 0xff, false, "exit record"};
}

}  // namespace ddbg::collector
