// Keeps account of which ring positions of one process have been taken, so that each record gets into the file once,
// whether it came by the socket or is read out of the region. The collector's own numbers decide; the region is only
// believed when a session begins.
//
//     written ≤ taken ≤ head      per lane: in the file · in the file or the pending chunk · published by the process
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collector/black_box.h"
#include "collector/pending_chunk.h"
#include "collector/wire_chunk.h"
#include "proto/batch_encoder.h"
#include "proto/result.h"
#include "proto/ring_layout.h"

namespace ddbg::collector {

class LaneIntake {
 public:
  // `region` must outlive this. Begins where the region says the file stands.
  explicit LaneIntake(const Region& region);

  // Appends the packets of a client's chunk to `out`, without those that repeat what was taken. An error is a client
  // that does not keep the rules: a gap, positions that the ring cannot have, bytes that are not a Chunk.
  Result<void> Take(std::string_view chunk, PendingChunk* out);

  // Reads what is published but not taken out of the region into `out`, until that holds `limit` bytes. True if nothing
  // is left. A lane whose positions are damaged is passed over and counted.
  bool Drain(size_t limit, PendingChunk* out);

  // A lane with so much taken and not written that its ring may fill up.
  bool NeedsFlush() const { return needs_flush_; }

  // All that was taken is in the file now: tells the process that the space is free.
  void Acknowledge();

  // Takes what a chunk already in the file holds as written.
  void Restore(std::string_view written_chunk);

  uint64_t UntakenCells() const;
  uint32_t damaged_lanes() const { return damaged_lanes_; }

 private:
  // What becomes of a batch, and of the definitions that belong to it.
  enum class Fate { kKeep, kDrop };

  Result<Fate> Judge(const BatchHead& batch, PendingChunk* out);
  void Account(const BatchHead& batch, PendingChunk* out);
  bool DrainLane(uint32_t slot, uint32_t lane, uint64_t end, const TickMapper& mapper, PendingChunk* out);

  Region region_;
  LanePositions taken_;
  LanePositions written_;
  bool needs_flush_ = false;
  uint32_t damaged_lanes_ = 0;
  std::string scratch_;
};

}  // namespace ddbg::collector
