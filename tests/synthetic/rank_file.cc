#include "tests/synthetic/rank_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "proto/batch_encoder.h"
#include "proto/call.h"

namespace ddbg::synthetic {
namespace {

// Positions are each rank's own; the cells at them are needed only while they are encoded.
const Region& SharedRegion() {
  static const Region region = [] {
    void* base =
        mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) abort();
    return Region{static_cast<unsigned char*>(base)};
  }();
  return region;
}

const TickMapper kTicksAreNs = {0, 0, 1.0};

TraceWriter Create(const std::string& path, const proto::Process& process) {
  proto::Chunk chunk;
  *chunk.add_packet()->mutable_process() = process;
  Result<TraceWriter> writer = TraceWriter::Create(path, chunk.SerializeAsString());
  if (!writer) {
    fprintf(stderr, "%s\n", writer.error().text.c_str());
    exit(1);
  }
  return *std::move(writer);
}

LaneId LaneOfRecord(const Record& record) {
  return record.call < kFirstCall ? kVitalLane : LaneOf(kCalls[record.call - kFirstCall].kind);
}

}  // namespace

RankFile::RankFile(const std::string& path, const proto::Process& process)
    : writer_(Create(path, process)), tid_(static_cast<uint32_t>(process.pid())) {}

void RankFile::Define(const proto::Definition& definition) {
  std::string payload = definition.SerializeAsString();
  Record head = {};
  head.call = kCallDefinition;
  head.count = payload.size();
  std::vector<Record>& cells = lanes_[kVitalLane].cells;
  cells.push_back(head);
  size_t at = cells.size();
  cells.resize(at + (payload.size() + kCellBytes - 1) / kCellBytes);
  std::memcpy(static_cast<void*>(cells.data() + at), payload.data(), payload.size());
}

void RankFile::Add(const Record& record) {
  lanes_[LaneOfRecord(record)].cells.push_back(record);
  auto start = static_cast<int64_t>(record.start), end = static_cast<int64_t>(record.start + record.duration);
  t_min_ = t_min_ == 0 ? start : std::min(t_min_, start);
  t_max_ = std::max(t_max_, end);
  ++records_;
}

void RankFile::AddOpen(const Record& record, int64_t seen_ns, uint64_t request) {
  OpenCallCopy open = {};
  open.tid = tid_;
  open.half[0] = record;
  open.requests[0] = request;
  open.request_count = request ? 1 : 0;
  AppendOpenCall(0, open, kTicksAreNs, seen_ns, &open_calls_);
  t_max_ = std::max(t_max_, seen_ns);
  if (t_min_ == 0) t_min_ = static_cast<int64_t>(record.start);
}

void RankFile::Encode(uint32_t lane_id, std::string* chunk) {
  constexpr size_t kMostCells = 8192;  // fits both lanes
  const Region& region = SharedRegion();
  region.slot(0)->tid.store(tid_);
  Lane& lane = lanes_[lane_id];
  for (size_t done = 0; done < lane.cells.size();) {
    size_t cells = std::min(lane.cells.size() - done, kMostCells);
    uint64_t first = lane.position, end = first + cells;
    for (uint64_t at = first; at < end; ++at)
      region.cells(0, lane_id)[at % kLaneCells[lane_id]] = lane.cells[done + (at - first)];
    uint64_t at = first;
    while (at < end) {
      uint64_t next = EncodeLane(region, 0, lane_id, at, end, kTicksAreNs, chunk);
      if (next == at) abort();
      at = next;
    }
    done += cells;
    lane.position = end;
  }
  lane.cells.clear();
}

void RankFile::FlushAt(int64_t now_ns, int64_t every_ns) {
  if (now_ns - flushed_ns_ < every_ns) return;
  flushed_ns_ = now_ns;
  Flush();
}

void RankFile::Flush() {
  std::string chunk = packets_.SerializeAsString();
  packets_.Clear();
  for (uint32_t lane = 0; lane < kLanes; ++lane) Encode(lane, &chunk);
  chunk += std::exchange(open_calls_, {});
  if (chunk.empty()) return;
  Result<void> done = writer_.Append(chunk, t_min_, std::max(t_min_, t_max_));
  if (!done) {
    fprintf(stderr, "%s\n", done.error().text.c_str());
    exit(1);
  }
  t_min_ = t_max_ = 0;
}

}  // namespace ddbg::synthetic
