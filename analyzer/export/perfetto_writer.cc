#include "analyzer/export/perfetto_writer.h"

#include <protozero/pbf_writer.hpp>

#include "analyzer/export/perfetto_fields.h"

namespace ddbg::analyzer {
namespace {

using protozero::pbf_writer;

constexpr uint32_t kSequence = 1;

// Perfetto's text is UTF-8; a path or a name of a process need not be.
std::string Utf8(std::string_view text) {
  std::string clean;
  for (size_t i = 0; i < text.size();) {
    unsigned char lead = text[i];
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xc2 && lead < 0xe0 ? 2
                    : (lead & 0xf0) == 0xe0       ? 3
                    : lead >= 0xf0 && lead < 0xf5 ? 4
                                                  : 0;
    bool whole = length > 0 && i + length <= text.size();
    for (size_t k = 1; whole && k < length; ++k) whole = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    if (whole) {
      clean.append(text.substr(i, length));
      i += length;
    } else {
      clean += "\xef\xbf\xbd";
      ++i;
    }
  }
  return clean;
}

}  // namespace

PerfettoWriter::PerfettoWriter(Output& out)
    : out_(out),
      categories_{perfetto::interned::kEventCategories, {}},
      names_{perfetto::interned::kEventNames, {}},
      keys_{perfetto::interned::kAnnotationNames, {}},
      strings_{perfetto::interned::kAnnotationStrings, {}} {
  pbf_writer packet(packet_);
  packet.add_uint32(perfetto::packet::kSequenceId, kSequence);
  packet.add_uint32(perfetto::packet::kSequenceFlags, perfetto::packet::kIncrementalStateCleared);
  packet.add_bool(perfetto::packet::kFirstPacketOnSequence, true);
  WritePacket();
}

bool PerfettoWriter::WritePacket() {
  framed_.clear();
  pbf_writer(framed_).add_message(perfetto::trace::kPacket, packet_);
  packet_.clear();
  return out_.Write(framed_);
}

void PerfettoWriter::Clock(int64_t realtime_ns) {
  namespace fields = perfetto::clock_snapshot;
  std::string snapshot;
  for (auto [clock, value] :
       {std::pair<uint32_t, uint64_t>{fields::kBoottime, 0}, {fields::kRealtime, static_cast<uint64_t>(realtime_ns)}}) {
    pbf_writer snapshot_writer(snapshot);
    pbf_writer clock_writer(snapshot_writer, fields::kClocks);
    clock_writer.add_uint32(fields::kClockId, clock);
    clock_writer.add_uint64(fields::kClockTimestamp, value);
  }
  pbf_writer packet(packet_);
  packet.add_uint64(perfetto::packet::kTimestamp, 0);
  packet.add_uint32(perfetto::packet::kSequenceId, kSequence);
  packet.add_message(perfetto::packet::kClockSnapshot, snapshot);
  WritePacket();
}

void PerfettoWriter::Track(const TrackDescription& track) {
  namespace fields = perfetto::track;
  {
    pbf_writer packet(packet_);
    packet.add_uint32(perfetto::packet::kSequenceId, kSequence);
    pbf_writer descriptor(packet, perfetto::packet::kTrackDescriptor);
    descriptor.add_uint64(fields::kUuid, track.uuid);
    if (track.parent) descriptor.add_uint64(fields::kParentUuid, track.parent);
    descriptor.add_string(fields::kName, Utf8(track.name));
    if (track.order >= 0) descriptor.add_int32(fields::kSiblingOrderRank, track.order);
    if (track.tid >= 0) {
      pbf_writer thread(descriptor, fields::kThread);
      thread.add_int32(fields::kThreadPid, track.pid);
      thread.add_int32(fields::kTid, track.tid);
      thread.add_string(fields::kThreadName, Utf8(track.name));
    } else if (track.pid >= 0) {
      pbf_writer process(descriptor, fields::kProcess);
      process.add_int32(fields::kPid, track.pid);
      for (const std::string& word : track.command_line) process.add_string(fields::kCommandLine, Utf8(word));
      process.add_string(fields::kProcessName, Utf8(track.name));
    }
  }
  WritePacket();
}

uint64_t PerfettoWriter::Iid(Interning* table, std::string_view text) {
  auto [entry, fresh] = table->iids.try_emplace(std::string(text), table->iids.size() + 1);
  if (fresh) {
    pbf_writer data(new_texts_);
    pbf_writer item(data, table->field);
    item.add_uint64(perfetto::interned::kIid, entry->second);
    item.add_string(perfetto::interned::kText, Utf8(text));
  }
  return entry->second;
}

// Keys are literals: found by address, without a look at the text.
uint64_t PerfettoWriter::KeyIid(std::string_view key) {
  auto [entry, fresh] = keys_by_address_.try_emplace(key.data());
  if (fresh) entry->second = Iid(&keys_, key);
  return entry->second;
}

void PerfettoWriter::Start(uint64_t track, int64_t t_ns, uint32_t type) {
  event_.clear();
  t_ns_ = t_ns;
  pbf_writer event(event_);
  event.add_uint32(perfetto::event::kType, type);
  event.add_uint64(perfetto::event::kTrackUuid, track);
}

void PerfettoWriter::Begin(uint64_t track, int64_t t_ns, uint64_t name_iid, std::string_view category) {
  Start(track, t_ns, perfetto::event::kSliceBegin);
  pbf_writer event(event_);
  event.add_uint64(perfetto::event::kNameIid, name_iid);
  event.add_uint64(perfetto::event::kCategoryIids, Iid(&categories_, category));
}

void PerfettoWriter::Instant(uint64_t track, int64_t t_ns, uint64_t name_iid, std::string_view category) {
  Start(track, t_ns, perfetto::event::kInstant);
  pbf_writer event(event_);
  event.add_uint64(perfetto::event::kNameIid, name_iid);
  event.add_uint64(perfetto::event::kCategoryIids, Iid(&categories_, category));
}

void PerfettoWriter::End(uint64_t track, int64_t t_ns) { Start(track, t_ns, perfetto::event::kSliceEnd); }

void PerfettoWriter::Int(std::string_view key, int64_t value) {
  pbf_writer event(event_);
  pbf_writer annotation(event, perfetto::event::kDebugAnnotations);
  annotation.add_uint64(perfetto::annotation::kNameIid, KeyIid(key));
  annotation.add_int64(perfetto::annotation::kInt, value);
}

void PerfettoWriter::Uint(std::string_view key, uint64_t value) {
  pbf_writer event(event_);
  pbf_writer annotation(event, perfetto::event::kDebugAnnotations);
  annotation.add_uint64(perfetto::annotation::kNameIid, KeyIid(key));
  annotation.add_uint64(perfetto::annotation::kUint, value);
}

void PerfettoWriter::Double(std::string_view key, double value) {
  pbf_writer event(event_);
  pbf_writer annotation(event, perfetto::event::kDebugAnnotations);
  annotation.add_uint64(perfetto::annotation::kNameIid, KeyIid(key));
  annotation.add_double(perfetto::annotation::kDouble, value);
}

void PerfettoWriter::Bool(std::string_view key, bool value) {
  pbf_writer event(event_);
  pbf_writer annotation(event, perfetto::event::kDebugAnnotations);
  annotation.add_uint64(perfetto::annotation::kNameIid, KeyIid(key));
  annotation.add_bool(perfetto::annotation::kBool, value);
}

void PerfettoWriter::String(std::string_view key, std::string_view value) {
  pbf_writer event(event_);
  pbf_writer annotation(event, perfetto::event::kDebugAnnotations);
  annotation.add_uint64(perfetto::annotation::kNameIid, KeyIid(key));
  annotation.add_string(perfetto::annotation::kString, Utf8(value));
}

void PerfettoWriter::Interned(std::string_view key, uint64_t iid) {
  pbf_writer event(event_);
  pbf_writer annotation(event, perfetto::event::kDebugAnnotations);
  annotation.add_uint64(perfetto::annotation::kNameIid, KeyIid(key));
  annotation.add_uint64(perfetto::annotation::kStringIid, iid);
}

bool PerfettoWriter::Finish() {
  pbf_writer event(event_);
  for (uint64_t id : flows_) event.add_fixed64(perfetto::event::kFlowIds, id);
  for (uint64_t id : last_flows_) event.add_fixed64(perfetto::event::kTerminatingFlowIds, id);
  flows_.clear();
  last_flows_.clear();
  pbf_writer packet(packet_);
  packet.add_uint64(perfetto::packet::kTimestamp, static_cast<uint64_t>(t_ns_));
  packet.add_uint32(perfetto::packet::kSequenceId, kSequence);
  packet.add_uint32(perfetto::packet::kSequenceFlags, perfetto::packet::kNeedsIncrementalState);
  if (!new_texts_.empty()) packet.add_message(perfetto::packet::kInternedData, new_texts_);
  new_texts_.clear();
  packet.add_message(perfetto::packet::kTrackEvent, event_);
  return WritePacket();
}

}  // namespace ddbg::analyzer
