// What a trace file says, decoded by libprotobuf, for tests to ask.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/ddbg.pb.h"
#include "tests/unit/trace_file.h"

namespace ddbg {

struct DecodedTrace {
  std::string refusal;
  std::vector<std::string> damage;
  std::vector<proto::Process> processes;
  std::vector<uint64_t> counts;  // field `count` of each record, sorted
  std::map<std::pair<uint32_t, uint32_t>, std::vector<std::pair<uint64_t, uint64_t>>> spans;  // of batches, by lane
  size_t definitions = 0;
  std::vector<proto::OpenCall> open_calls;
  std::vector<proto::ProcessEnd> ends;
  std::vector<proto::Note> notes;
  size_t clock_points = 0;
  bool parsed = true;

  explicit DecodedTrace(const std::string& path) {
    ReadTrace read = ReadFile(path);
    refusal = read.refusal;
    damage = read.damage;
    for (const ReadTrace::Chunk& bytes : read.chunks) {
      proto::Chunk chunk;
      parsed = parsed && chunk.ParseFromString(bytes.bytes);
      for (const proto::Packet& packet : chunk.packet()) Add(packet);
    }
    std::sort(counts.begin(), counts.end());
  }

  bool HasNote(proto::Note::Kind kind) const {
    return std::any_of(notes.begin(), notes.end(), [&](const proto::Note& note) { return note.kind() == kind; });
  }

  // True if the records' counts are 0, 1, … n - 1, each once.
  bool HasEachOnce(uint64_t n) const {
    if (counts.size() != n) return false;
    for (uint64_t i = 0; i < n; ++i) {
      if (counts[i] != i) return false;
    }
    return true;
  }

  // True if the batches of each lane follow on each other from position 0.
  bool SpansAreSeamless() const {
    for (const auto& [lane, batches] : spans) {
      uint64_t at = 0;
      for (auto [first, end] : batches) {
        if (first != at) return false;
        at = end;
      }
    }
    return true;
  }

 private:
  void Add(const proto::Packet& packet) {
    if (packet.has_process()) processes.push_back(packet.process());
    if (packet.has_open_call()) open_calls.push_back(packet.open_call());
    if (packet.has_end()) ends.push_back(packet.end());
    if (packet.has_note()) notes.push_back(packet.note());
    if (packet.has_clock()) ++clock_points;
    if (packet.has_definitions()) definitions += static_cast<size_t>(packet.definitions().definition_size());
    if (!packet.has_batch()) return;
    const proto::Batch& batch = packet.batch();
    spans[{batch.thread(), batch.lane()}].emplace_back(batch.first_position(), batch.end_position());
    for (uint32_t i = 0; i < batch.records(); ++i) {
      counts.push_back(batch.count().empty() ? 0 : batch.count(static_cast<int>(i)));
    }
  }
};

}  // namespace ddbg
