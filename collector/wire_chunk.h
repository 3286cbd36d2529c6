// Looks into a protobuf `Chunk` as it came, only as deep as the collector has to: what kind its packets are and which
// ring positions its batches cover. Columns are passed over. Any bytes are safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/result.h"

namespace ddbg::collector {

// Field numbers of Packet's body in ddbg.proto.
enum PacketBody : uint32_t {
  kProcessPacket = 1,
  kBatchPacket = 2,
  kDefinitionsPacket = 3,
};

struct PacketView {
  uint32_t body;             // PacketBody or another field number
  std::string_view whole;    // with its tag and length: can be copied into another chunk
  std::string_view message;  // the body
};

// Calls visit(const PacketView&) → bool for each packet; stops when it returns false. False if it was stopped or the
// bytes are not a Chunk.
template <class Visit>
bool ForEachPacket(std::string_view chunk, Visit visit);

struct BatchHead {
  uint32_t thread = 0;
  uint32_t lane = 0;
  uint64_t first_position = 0;
  uint64_t end_position = 0;
  int64_t t_min_ns = 0;
  int64_t t_max_ns = 0;
  uint64_t records = 0;
};

// Reads fields 1 to 8 of a Batch. False if it is malformed that far.
bool ReadBatchHead(std::string_view message, BatchHead* head);

// Reads the thread and lane of a Definitions.
bool ReadDefinitionsLane(std::string_view message, uint32_t* thread, uint32_t* lane);

// What the collector has to know of a Process.
struct Hello {
  std::string run_id;
  uint32_t attempt = 0;
  int32_t rank = 0;
  std::string host;
  std::string boot_id;
  int32_t pid = 0;
  int64_t start_monotonic_ns = 0;
  std::string trace_dir;
  uint64_t budget_bytes = 0;  // of its files; 0: no limit
  bool telemetry = true;

  // True if both are of one process: a process that connects again, not another one of its rank.
  bool SameProcess(const Hello& other) const {
    return pid == other.pid && start_monotonic_ns == other.start_monotonic_ns && boot_id == other.boot_id &&
           host == other.host;
  }
  bool SameRun(const Hello& other) const {
    return run_id == other.run_id && attempt == other.attempt && trace_dir == other.trace_dir;
  }
};

// Reads a chunk that must hold exactly one packet, a Process.
Result<Hello> ReadHello(std::string_view chunk);

// Splits the first packet off `chunk`. False if there is none or it is malformed.
bool NextPacket(std::string_view* chunk, PacketView* packet);

template <class Visit>
bool ForEachPacket(std::string_view chunk, Visit visit) {
  PacketView packet;
  while (!chunk.empty()) {
    if (!NextPacket(&chunk, &packet) || !visit(packet)) return false;
  }
  return true;
}

}  // namespace ddbg::collector
