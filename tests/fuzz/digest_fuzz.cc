// What a trace file holds becomes a digest: any bytes give one, and a digest of a digest says the same.
//
//     input = chunk*, each size u16, bytes
#include <string>
#include <vector>

#include "collector/digest.h"
#include "tests/fuzz/input.h"

using namespace ddbg;
using namespace ddbg::fuzz;

namespace {

std::vector<std::string> Written(const collector::Digest& digest) {
  std::vector<std::string> chunks;
  Result<void> done = digest.Write([&](std::string_view chunk, int64_t, int64_t) -> Result<void> {
    chunks.emplace_back(chunk);
    return {};
  });
  Require(done.ok() && chunks.size() >= 2);
  return chunks;
}

proto::Dropped DroppedOf(const std::vector<std::string>& chunks) {
  proto::Chunk last;
  Require(last.ParseFromString(chunks.back()) && last.packet_size() == 1 && last.packet(0).has_dropped());
  return last.packet(0).dropped();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  collector::Digest digest, again;
  for (Input input(bytes, size); !input.empty();) digest.Add(input.Bytes(input.Word()));
  std::vector<std::string> chunks = Written(digest);
  for (const std::string& chunk : chunks) again.Add(chunk);
  proto::Dropped first = DroppedOf(chunks), second = DroppedOf(Written(again));
  Require(first.SerializeAsString() == second.SerializeAsString());
  return 0;
}
