#include "collector/packets.h"

#include <unistd.h>

#include "proto/batch_encoder.h"
#include "proto/clock_ticks.h"
#include "proto/host_clock.h"

namespace ddbg::collector {
namespace {

using protozero::pbf_writer;

// Field numbers of Packet's body in ddbg.proto.
enum : uint32_t { kProcess = 1, kEnd = 6, kNote = 7, kClock = 8 };

}  // namespace

void AppendNote(NoteKind kind, std::string_view text, std::string* chunk) {
  AppendPacket(kNote, chunk, [&](pbf_writer& note) {
    note.add_enum(1, static_cast<int32_t>(kind));
    note.add_sint64(2, HostMonotonicNs());
    note.add_bytes(3, text.data(), text.size());
  });
}

namespace {

struct Instant {
  int64_t monotonic_ns = 0, realtime_ns = 0;
  uint64_t ticks = 0;
};

// Of the process's counter and our clocks at one instant: the tightest of a few tries.
Instant BothNow(ClockKind kind) {
  Instant best;
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    uint64_t before = ReadTicks(kind);
    int64_t now = HostMonotonicNs(), realtime = RealtimeNs();
    uint64_t width = ReadTicks(kind) - before;
    if (width >= best_width) continue;
    best_width = width;
    best = {now, realtime, before + width / 2};
  }
  return best;
}

}  // namespace

bool AppendClockPoint(const RegionHeader& header, std::string* chunk) {
  ClockKind kind = header.clock_kind;
  Instant now = BothNow(kind);
  bool counts = kind == ClockKind::kTsc || kind == ClockKind::kCntvct;
  bool calibrated = counts && header.clock_ns_per_tick_bits.load(std::memory_order_relaxed) != 0;
  AppendPacket(kClock, chunk, [&](pbf_writer& point) {
    point.add_sint64(1, now.monotonic_ns);
    point.add_sint64(2, now.realtime_ns);
    if (calibrated) point.add_sint64(3, MakeTickMapper(header).Ns(now.ticks));
  });
  return calibrated || !counts;
}

void AppendProcessEnd(const ProcessEnding& ending, const EndFacts& facts, std::string* chunk) {
  AppendPacket(kEnd, chunk, [&](pbf_writer& end) {
    end.add_enum(1, static_cast<int32_t>(ending.how));
    end.add_sint32(2, ending.code);
    end.add_bool(3, ending.core_dumped);
    end.add_bytes(4, ending.source);
    end.add_sint64(5, facts.t_ns);
    end.add_bool(6, facts.abort_called);
    end.add_packed_uint64(7, facts.lost.begin(), facts.lost.end());
    end.add_uint32(8, facts.peers.all);
    end.add_uint32(9, facts.peers.running);
  });
}

void AppendOwnProcess(const SelfDescription& self, std::string* chunk) {
  AppendPacket(kProcess, chunk, [&](pbf_writer& process) {
    process.add_bytes(1, self.run_id);
    process.add_uint32(2, self.attempt);
    process.add_sint32(3, -1);
    process.add_sint32(4, -1);
    process.add_sint32(5, -1);
    process.add_bytes(7, self.host);
    process.add_sint32(11, getpid());
    process.add_bytes(14, "ddbg-collector");
    process.add_sint64(19, RealtimeNs());
    process.add_sint64(20, HostMonotonicNs());
    process.add_bytes(21, "clock_gettime");
    process.add_bytes(24, self.trace_dir);
    process.add_bytes(26, DDBG_VERSION);
  });
}

}  // namespace ddbg::collector
