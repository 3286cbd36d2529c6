#include "collector/wire_chunk.h"

#include <protozero/pbf_reader.hpp>

namespace ddbg::collector {
namespace {

using protozero::data_view;
using protozero::pbf_reader;

std::string_view View(data_view view) { return {view.data(), view.size()}; }

// protozero throws at malformed bytes and asserts on the wire type: both become false here.
template <class Read>
bool Guarded(Read read) {
  try {
    return read();
  } catch (const protozero::exception&) {
    return false;
  }
}

bool IsVarint(const pbf_reader& reader) { return reader.wire_type() == protozero::pbf_wire_type::varint; }
bool IsBytes(const pbf_reader& reader) { return reader.wire_type() == protozero::pbf_wire_type::length_delimited; }

// A varint field's value in any of its three readings.
struct Varint {
  uint64_t value;
  uint32_t u32() const { return static_cast<uint32_t>(value); }
  int64_t s64() const { return protozero::decode_zigzag64(value); }
  int32_t s32() const { return static_cast<int32_t>(s64()); }
};

void SetBatchField(BatchHead* head, uint32_t tag, Varint field) {
  switch (tag) {
    case 1: head->thread = field.u32(); break;
    case 2: head->lane = field.u32(); break;
    case 3: head->first_position = field.value; break;
    case 4: head->end_position = field.value; break;
    case 5: head->t_min_ns = field.s64(); break;
    case 6: head->t_max_ns = field.s64(); break;
    case 8: head->records = field.value; break;
  }
}

void SetHelloNumber(Hello* hello, uint32_t tag, Varint field) {
  switch (tag) {
    case 2: hello->attempt = field.u32(); break;
    case 3: hello->rank = field.s32(); break;
    case 11: hello->pid = field.s32(); break;
    case 20: hello->start_monotonic_ns = field.s64(); break;
    case 27: hello->budget_bytes = field.value; break;
    case 28: hello->telemetry = field.value == 0; break;
  }
}

void SetHelloText(Hello* hello, uint32_t tag, data_view field) {
  switch (tag) {
    case 1: hello->run_id = field.to_string(); break;
    case 7: hello->host = field.to_string(); break;
    case 9: hello->boot_id = field.to_string(); break;
    case 24: hello->trace_dir = field.to_string(); break;
  }
}

bool ReadProcess(std::string_view message, Hello* hello) {
  return Guarded([&] {
    pbf_reader reader{message.data(), message.size()};
    while (reader.next()) {
      uint32_t tag = reader.tag();  // gone once the field is read
      if (IsVarint(reader)) {
        SetHelloNumber(hello, tag, Varint{reader.get_uint64()});
      } else if (IsBytes(reader)) {
        SetHelloText(hello, tag, reader.get_view());
      } else {
        reader.skip();
      }
    }
    return true;
  });
}

}  // namespace

bool NextPacket(std::string_view* chunk, PacketView* packet) {
  return Guarded([&] {
    pbf_reader reader{chunk->data(), chunk->size()};
    if (!reader.next() || reader.tag() != 1 || !IsBytes(reader)) return false;
    pbf_reader body{reader.get_view()};
    packet->whole = chunk->substr(0, chunk->size() - reader.length());
    *chunk = chunk->substr(packet->whole.size());
    if (!body.next() || !IsBytes(body)) return false;
    packet->body = body.tag();
    packet->message = View(body.get_view());
    return !body.next();
  });
}

bool ReadBatchHead(std::string_view message, BatchHead* head) {
  return Guarded([&] {
    pbf_reader reader{message.data(), message.size()};
    while (reader.next() && reader.tag() <= 8) {
      if (!IsVarint(reader)) return false;
      uint32_t tag = reader.tag();
      SetBatchField(head, tag, Varint{reader.get_uint64()});
    }
    return true;
  });
}

bool ReadDefinitionsLane(std::string_view message, uint32_t* thread, uint32_t* lane) {
  *thread = *lane = 0;
  return Guarded([&] {
    pbf_reader reader{message.data(), message.size()};
    while (reader.next() && reader.tag() <= 2) {
      if (!IsVarint(reader)) return false;
      uint32_t* field = reader.tag() == 1 ? thread : lane;
      *field = reader.get_uint32();
    }
    return true;
  });
}

Result<Hello> ReadHello(std::string_view chunk) {
  PacketView packet;
  Hello hello;
  bool is_hello = NextPacket(&chunk, &packet) && chunk.empty() && packet.body == kProcessPacket &&
                  ReadProcess(packet.message, &hello);
  if (!is_hello) return Error{"its first frame is not one Process packet", 0};
  if (hello.trace_dir.empty() || hello.trace_dir[0] != '/') return Error{"its trace directory is not absolute", 0};
  return hello;
}

}  // namespace ddbg::collector
