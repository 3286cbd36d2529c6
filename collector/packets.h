// The packets that the collector itself puts into trace files. Each function appends one to a Chunk.
#pragma once

#include <array>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

#include "proto/ring_layout.h"

namespace ddbg::collector {

// Field numbers of Packet's body in ddbg.proto, of telemetry.
enum : uint32_t { kSamplesPacket = 20, kClockStepPacket = 21, kPlacementPacket = 22 };

// write(pbf_writer&) fills the body of one packet.
template <class Write>
void AppendPacket(uint32_t body, std::string* chunk, Write write) {
  protozero::pbf_writer writer{*chunk};
  protozero::pbf_writer packet{writer, 1};
  protozero::pbf_writer message{packet, body};
  write(message);
}

enum class NoteKind : int32_t {  // Note.Kind in ddbg.proto
  kOther = 0,
  kCollectorStarted = 1,
  kClientConnected = 2,
  kClientLost = 3,
  kClientResumed = 4,
  kDiskFull = 5,
  kDiskResumed = 6,
  kBadClient = 7,
  kCollectorStopped = 8,
};

// Stamped with the host's CLOCK_MONOTONIC now.
void AppendNote(NoteKind kind, std::string_view text, std::string* chunk);

// Both clocks now, and what a process with this region takes it for; false: it has not measured its counter yet.
bool AppendClockPoint(const RegionHeader& header, std::string* chunk);

struct ProcessEnding {
  enum class How : int32_t { kUnknown = 0, kExited = 1, kSignaled = 2, kGone = 3 };  // ProcessEnd.How
  How how = How::kUnknown;
  int32_t code = 0;  // exit code or signal number
  bool core_dumped = false;
  std::string source;  // "pidfd", "zombie", "exit record", ""
};

using LostCounts = std::array<uint64_t, kLossCauses>;  // by LossCause

// The other processes of a run on this node, when one of them began to end.
struct PeersSeen {
  uint32_t all = 0;
  uint32_t running = 0;  // no deadly signal on its way
};

// What is known of the end of a process beyond how it ended.
struct EndFacts {
  int64_t t_ns;
  bool abort_called;
  LostCounts lost;
  PeersSeen peers;
};

void AppendProcessEnd(const ProcessEnding& ending, const EndFacts& facts, std::string* chunk);

// The Process packet that begins a file of the collector's own.
struct SelfDescription {
  std::string run_id;
  uint32_t attempt;
  std::string host;
  std::string trace_dir;
};
void AppendOwnProcess(const SelfDescription& self, std::string* chunk);

}  // namespace ddbg::collector
