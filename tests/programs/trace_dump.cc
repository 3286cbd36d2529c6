// trace_dump FILE: what a trace says, field by field and with no interpretation, a JSON object a line: the records of
// batches, and definitions as protobuf's own JSON under "definition" (bytes in base64). For tests of what the library
// records.
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "proto/batch_reader.h"
#include "proto/ddbg.pb.h"
#include "proto/trace_reader.h"

namespace {

using ddbg::proto::Packet;

std::map<uint32_t, std::string> g_call_names;

void PrintRecord(const ddbg::Record& r, const ddbg::proto::Batch& batch) {
  auto name = g_call_names.find(r.call);
  nlohmann::ordered_json json = {
      {"call", name == g_call_names.end() ? std::to_string(r.call) : name->second},
      {"tid", batch.tid()},
      {"start", r.start},
      {"duration", r.duration},
      {"count", r.count},
      {"comm", r.comm},
      {"seq", r.seq},
      {"dtype", r.dtype},
      {"peer", r.peer},
      {"tag", r.tag},
      {"stack", r.stack},
      {"aux", r.aux},
      {"result", r.result},
      {"op", r.op},
      {"flags", r.flags},
  };
  printf("%s\n", json.dump().c_str());
}

void Print(const Packet& packet) {
  if (packet.has_process())
    for (int i = 0; i < packet.process().call_name_size(); ++i)
      g_call_names[ddbg::kFirstCall + static_cast<uint32_t>(i)] = packet.process().call_name(i);
  for (const ddbg::proto::Definition& definition : packet.definitions().definition()) {
    std::string json;
    (void)google::protobuf::util::MessageToJsonString(definition, &json);
    printf("{\"definition\": %s}\n", json.c_str());
  }
  if (!packet.has_batch() || !ddbg::BatchReader::Fits(packet.batch())) return;
  ddbg::BatchReader reader(packet.batch());
  for (uint32_t i = 0; i < packet.batch().records(); ++i) PrintRecord(reader.Next(), packet.batch());
}

}  // namespace

int main(int, char** arguments) {
  auto reader = ddbg::TraceReader::Open(arguments[1] ? arguments[1] : "");
  if (!reader) {
    fprintf(stderr, "%s\n", reader.error().text.c_str());
    return 1;
  }
  ddbg::TraceChunk bytes;
  while (reader->Next(&bytes)) {
    ddbg::proto::Chunk chunk;
    if (!chunk.ParseFromArray(bytes.bytes.data(), static_cast<int>(bytes.bytes.size()))) return 1;
    for (const Packet& packet : chunk.packet()) Print(packet);
  }
}
