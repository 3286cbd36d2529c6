// The trace file of one made-up rank, written as the real ones are: cells of a ring through the batch encoder, chunks
// of half a second through the trace writer. One thread for all of them, since they share one ring.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/ddbg.pb.h"
#include "proto/ring_layout.h"
#include "proto/trace_writer.h"

namespace ddbg::synthetic {

class RankFile {
 public:
  // Ends the program with a sentence if the file cannot be made.
  RankFile(const std::string& path, const proto::Process& process);

  void Define(const proto::Definition& definition);
  void Add(const proto::Packet& packet) { *packets_.add_packet() = packet; }
  // A finished call; times are ns of the host's CLOCK_MONOTONIC. Goes to the lane of its kind.
  void Add(const Record& record);
  // As the collector tells of a call that is still open.
  void AddOpen(const Record& record, int64_t seen_ns, uint64_t request = 0);
  // Writes a chunk if the last one is that old by now.
  void FlushAt(int64_t now_ns, int64_t every_ns);
  void Flush();

  uint64_t records() const { return records_; }

 private:
  struct Lane {
    std::vector<Record> cells;
    uint64_t position = 0;
  };

  void Encode(uint32_t lane, std::string* chunk);

  TraceWriter writer_;
  uint32_t tid_;
  Lane lanes_[kLanes];
  proto::Chunk packets_;
  std::string open_calls_;
  int64_t t_min_ = 0, t_max_ = 0;
  int64_t flushed_ns_ = 0;
  uint64_t records_ = 0;
};

}  // namespace ddbg::synthetic
