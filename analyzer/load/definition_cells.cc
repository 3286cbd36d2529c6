#include "analyzer/load/definition_cells.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "proto/ddbg.pb.h"
#include "proto/ring_layout.h"

namespace ddbg::analyzer {
namespace {

using google::protobuf::internal::WireFormatLite;
using Input = google::protobuf::io::CodedInputStream;

uint32_t MessageTag(int field) { return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED); }

// Calls fn(bytes) for each occurrence of a length-delimited field of a message. False if it is malformed.
template <typename Fn>
bool ForEachField(std::string_view message, int field, Fn&& fn) {
  Input input(reinterpret_cast<const uint8_t*>(message.data()), static_cast<int>(message.size()));
  while (uint32_t tag = input.ReadTag()) {
    if (tag != MessageTag(field)) {
      if (!WireFormatLite::SkipField(&input, tag)) return false;
      continue;
    }
    uint32_t size = 0;
    if (!input.ReadVarint32(&size)) return false;
    int at = input.CurrentPosition();
    if (size > message.size() - at || !input.Skip(static_cast<int>(size))) return false;
    fn(message.substr(at, size));
  }
  return true;
}

}  // namespace

std::vector<uint64_t> DefinitionCells(std::string_view chunk, int index) {
  std::string_view packet;
  int count = 0;
  ForEachField(chunk, proto::Chunk::kPacketFieldNumber, [&](std::string_view bytes) {
    if (count++ == index) packet = bytes;
  });
  std::vector<uint64_t> cells;
  ForEachField(packet, proto::Packet::kDefinitionsFieldNumber, [&](std::string_view definitions) {
    ForEachField(definitions, proto::Definitions::kDefinitionFieldNumber,
                 [&](std::string_view bytes) { cells.push_back(1 + (bytes.size() + kCellBytes - 1) / kCellBytes); });
  });
  return cells;
}

}  // namespace ddbg::analyzer
