// Follows what gets out of a region: the batches of a lane must join without gap or repetition.
#pragma once

#include <map>
#include <string_view>
#include <utility>

#include "collector/wire_chunk.h"
#include "proto/ring_layout.h"
#include "tests/fuzz/input.h"

namespace ddbg::fuzz {

class RegionSpans {
 public:
  explicit RegionSpans(const Region& region) {
    for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) end_[{slot, lane}] = region.slot(slot)->lane[lane].written;
    }
  }

  void Follow(std::string_view chunk) {
    bool whole = collector::ForEachPacket(chunk, [this](const collector::PacketView& packet) {
      collector::BatchHead batch;
      if (packet.body != collector::kBatchPacket) return true;
      Require(collector::ReadBatchHead(packet.message, &batch));
      Require(batch.thread < kMaxThreads && batch.lane < kLanes);
      uint64_t& end = end_[{batch.thread, batch.lane}];
      Require(batch.first_position == end && batch.end_position >= end);
      Require(batch.records <= batch.end_position - batch.first_position);
      end = batch.end_position;
      return true;
    });
    Require(whole);
  }

  uint64_t end(uint32_t slot, uint32_t lane) const { return end_.at({slot, lane}); }

 private:
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> end_;  // by slot and lane
};

}  // namespace ddbg::fuzz
