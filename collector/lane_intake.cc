#include "collector/lane_intake.h"

namespace ddbg::collector {
namespace {

// A lane that is this full of what is not written yet is written at once, so that it never fills up for the lack of it.
constexpr uint64_t FlushThreshold(uint32_t lane) { return kLaneCells[lane] / 4; }

uint64_t Head(const Region& region, uint32_t slot, uint32_t lane) {
  return region.slot(slot)->lane[lane].head.load(std::memory_order_acquire);  // pairs with the app thread's release
}

Error Fault(const char* what, const BatchHead& batch, uint64_t expected) {
  return Error{std::string(what) + " (thread " + std::to_string(batch.thread) + ", lane " + std::to_string(batch.lane) +
                   ", cells " + std::to_string(batch.first_position) + " to " + std::to_string(batch.end_position) +
                   " where " + std::to_string(expected) + " comes next)",
               0};
}

}  // namespace

LaneIntake::LaneIntake(const Region& region) : region_(region) {
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      taken_.at[slot][lane] = region.slot(slot)->lane[lane].written.load(std::memory_order_relaxed);
    }
  }
  written_ = taken_;
}

Result<void> LaneIntake::Take(std::string_view chunk, PendingChunk* out) {
  Error fault{"a frame that is not a Chunk", 0};
  BatchHead last;
  Fate fate_of_last = Fate::kKeep;
  bool whole = ForEachPacket(chunk, [&](const PacketView& packet) {
    if (packet.body == kBatchPacket) {
      last = BatchHead{};
      if (!ReadBatchHead(packet.message, &last)) return false;
      Result<Fate> fate = Judge(last, out);
      if (!fate) {
        fault = fate.error();
        return false;
      }
      fate_of_last = *fate;
      if (*fate == Fate::kDrop) return true;
      Account(last, out);
    } else if (packet.body == kDefinitionsPacket && fate_of_last == Fate::kDrop) {
      uint32_t thread, lane;
      if (!ReadDefinitionsLane(packet.message, &thread, &lane)) return false;
      if (thread == last.thread && lane == last.lane) return true;
    }
    out->bytes.append(packet.whole);
    return true;
  });
  if (!whole) return fault;
  return {};
}

Result<LaneIntake::Fate> LaneIntake::Judge(const BatchHead& batch, PendingChunk* out) {
  if (batch.thread >= kMaxThreads || batch.lane >= kLanes)
    return Fault("a batch of a lane that there is not", batch, 0);
  uint64_t taken = taken_.at[batch.thread][batch.lane];
  uint64_t cells = batch.end_position - batch.first_position;
  if (batch.end_position < batch.first_position || cells > kLaneCells[batch.lane] || batch.records > cells ||
      batch.end_position > Head(region_, batch.thread, batch.lane)) {
    return Fault("a batch of positions that cannot be", batch, taken);
  }
  if (batch.first_position > taken) return Fault("a batch after a gap", batch, taken);
  if (batch.end_position <= taken) return Fate::kDrop;
  if (batch.first_position == taken) return Fate::kKeep;
  // A client that connected again sends from what was written, and part of that was taken meanwhile. The new part is
  // still in the ring.
  DrainLane(batch.thread, batch.lane, batch.end_position, MakeTickMapper(*region_.header()), out);
  return Fate::kDrop;
}

void LaneIntake::Account(const BatchHead& batch, PendingChunk* out) {
  taken_.at[batch.thread][batch.lane] = batch.end_position;
  uint64_t unwritten = batch.end_position - written_.at[batch.thread][batch.lane];
  if (unwritten >= FlushThreshold(batch.lane)) needs_flush_ = true;
  if (batch.records != 0) out->Cover(batch.t_min_ns, batch.t_max_ns);
  out->records += batch.records;
}

// Takes cells up to `end` from the ring, as one or more batches of our own. False if it did not get there.
bool LaneIntake::DrainLane(uint32_t slot, uint32_t lane, uint64_t end, const TickMapper& mapper, PendingChunk* out) {
  uint64_t& taken = taken_.at[slot][lane];
  while (taken < end) {
    scratch_.clear();
    uint64_t next = EncodeLane(region_, slot, lane, taken, end, mapper, &scratch_);
    if (next == taken) return false;
    ForEachPacket(scratch_, [&](const PacketView& packet) {
      BatchHead batch;
      if (packet.body == kBatchPacket && ReadBatchHead(packet.message, &batch)) Account(batch, out);
      return true;
    });
    taken = next;
    out->bytes.append(scratch_);
  }
  return true;
}

bool LaneIntake::Drain(size_t limit, PendingChunk* out) {
  TickMapper mapper = MakeTickMapper(*region_.header());
  damaged_lanes_ = 0;
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint64_t taken = taken_.at[slot][lane];
      uint64_t head = Head(region_, slot, lane);
      if (head == taken) continue;
      if (out->bytes.size() >= limit) return false;
      bool possible = head > taken && head - taken <= kLaneCells[lane];
      if (!possible || !DrainLane(slot, lane, head, mapper, out)) ++damaged_lanes_;
    }
  }
  return true;
}

void LaneIntake::Acknowledge() {
  needs_flush_ = false;
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint64_t taken = taken_.at[slot][lane];
      if (taken == written_.at[slot][lane]) continue;
      written_.at[slot][lane] = taken;
      // Release: the process may write over the cells once it sees this, and they have been read before.
      region_.slot(slot)->lane[lane].written.store(taken, std::memory_order_release);
    }
  }
}

void LaneIntake::Restore(std::string_view written_chunk) {
  ForEachPacket(written_chunk, [&](const PacketView& packet) {
    BatchHead batch;
    if (packet.body != kBatchPacket || !ReadBatchHead(packet.message, &batch)) return true;
    if (batch.thread >= kMaxThreads || batch.lane >= kLanes) return true;
    uint64_t& taken = taken_.at[batch.thread][batch.lane];
    bool follows = batch.first_position <= taken && batch.end_position > taken &&
                   batch.end_position <= Head(region_, batch.thread, batch.lane);
    if (follows) taken = batch.end_position;
    return true;
  });
  Acknowledge();
}

uint64_t LaneIntake::UntakenCells() const {
  uint64_t cells = 0;
  for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint64_t untaken = Head(region_, slot, lane) - taken_.at[slot][lane];
      if (untaken <= kLaneCells[lane]) cells += untaken;
    }
  }
  return cells;
}

}  // namespace ddbg::collector
