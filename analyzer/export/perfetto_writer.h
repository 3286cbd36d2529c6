// Writes Perfetto's native trace format, packet by packet: nothing is kept but the table of interned texts.
//
//   PerfettoWriter writer(out);
//   writer.Clock(realtime_ns);
//   writer.Track({.uuid = 1, .name = "rank 0", .pid = 17});
//   writer.Begin(1, 1000, "MPI_Send"); writer.Int("bytes", 64); writer.Flow(7); writer.Finish();
//   writer.End(1, 2000); writer.Finish();
//
// All packets are of one sequence. On a track slices nest: who calls keeps begins and ends of a track in that order;
// events of different tracks may come in any order. Times are ns, not negative.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/render/output.h"

namespace ddbg::analyzer {

struct TrackDescription {
  uint64_t uuid = 0;
  uint64_t parent = 0;  // 0: none
  std::string name;
  int32_t pid = -1;  // with tid -1: a process's own track
  int32_t tid = -1;
  std::vector<std::string> command_line;
  int32_t order = -1;  // among its siblings; -1: as the viewer likes
};

class PerfettoWriter {
 public:
  explicit PerfettoWriter(Output& out);

  // Wall clock at time 0 of the trace.
  void Clock(int64_t realtime_ns);
  void Track(const TrackDescription& track);

  void Begin(uint64_t track, int64_t t_ns, uint64_t name_iid, std::string_view category);
  void Instant(uint64_t track, int64_t t_ns, uint64_t name_iid, std::string_view category);
  void End(uint64_t track, int64_t t_ns);

  // Of the event begun last.
  void Int(std::string_view key, int64_t value);
  void Uint(std::string_view key, uint64_t value);
  void Double(std::string_view key, double value);
  void Bool(std::string_view key, bool value);
  void String(std::string_view key, std::string_view value);  // one that is seldom said
  void Interned(std::string_view key, uint64_t iid);          // of StringIid
  void Flow(uint64_t id) { flows_.push_back(id); }
  void LastOfFlow(uint64_t id) { last_flows_.push_back(id); }
  // Writes the event. False once the reader is gone.
  bool Finish();

  // Numbers of texts, for the whole trace.
  uint64_t NameIid(std::string_view name) { return Iid(&names_, name); }
  uint64_t StringIid(std::string_view text) { return Iid(&strings_, text); }

 private:
  // One of Perfetto's tables of texts, and what of it the trace does not have yet.
  struct Interning {
    uint32_t field;  // of InternedData
    std::unordered_map<std::string, uint64_t> iids;
  };

  uint64_t Iid(Interning* table, std::string_view text);
  uint64_t KeyIid(std::string_view key);
  void Start(uint64_t track, int64_t t_ns, uint32_t type);
  bool WritePacket();

  Output& out_;
  Interning categories_, names_, keys_, strings_;
  std::unordered_map<const char*, uint64_t> keys_by_address_;
  std::string new_texts_;  // encoded InternedData to go with the next packet
  std::string event_, packet_, framed_;
  int64_t t_ns_ = 0;
  std::vector<uint64_t> flows_, last_flows_;
};

}  // namespace ddbg::analyzer
