// What a client sends of its lanes, true or made up, mixed with what the collector does by itself. Whatever it is, each
// cell is taken once, and none that was not published.
//
//     input = step*         kind u8: 0 publish: which u8, cells u8
//                                    1 a true chunk of cells: which u8, first u16, cells u16, then changed:
//                                      changes u8 % 8, each at u16, xor u8
//                                    2 a chunk of any bytes: size u16, bytes
//                                    3 the last chunk of a resumed file: size u16, bytes
//                                    4 read the region: limit u16     5 acknowledge
#include "collector/lane_intake.h"
#include "tests/fuzz/region_spans.h"
#include "tests/unit/fake_region.h"

using namespace ddbg;
using namespace ddbg::fuzz;

namespace {

class Client {
 public:
  Client() : intake_(fake_.region()), spans_(fake_.region()) {}

  // False once the client has broken the rules and its session has ended.
  bool Step(Input* input) {
    switch (input->Byte() % 6) {
      case 0: Publish(input); return true;
      case 1: return Take(TrueChunk(input));
      case 2: return Take(input->Bytes(input->Word()));
      case 3: Restore(input->Bytes(input->Word())); return true;
      case 4: Drain(input->Word()); return true;
      default: Acknowledge(); return true;
    }
  }

  void ReadToItsEnd() {
    while (!intake_.Drain(64 << 10, &out_)) Flush();
    Flush();
    Require(intake_.UntakenCells() == 0 && intake_.damaged_lanes() == 0);
  }

 private:
  struct Lane {
    uint32_t slot, lane;
  };
  static Lane SomeLane(uint8_t which) { return {which / 2u % kMaxThreads, which % kLanes}; }

  // As far as there is room: this client's positions are true.
  void Publish(Input* input) {
    Lane at = SomeLane(input->Byte());
    LaneState& lane = fake_.lane(at.slot, at.lane);
    uint64_t room = kLaneCells[at.lane] - (lane.head - lane.written);
    for (uint64_t i = 0, cells = std::min<uint64_t>(input->Byte(), room); i < cells; ++i) {
      fake_.Publish(at.slot, at.lane, FakeRegion::Call(lane.head, i));
    }
  }

  std::string TrueChunk(Input* input) {
    Lane at = SomeLane(input->Byte());
    uint64_t first = input->Word();
    uint64_t end = std::min(first + input->Word(), fake_.head(at.slot, at.lane));
    std::string chunk;
    EncodeLane(fake_.region(), at.slot, at.lane, first, end, {}, &chunk);
    for (int changes = input->Byte() % 8; changes > 0 && !chunk.empty(); --changes) {
      chunk[input->Word() % chunk.size()] ^= static_cast<char>(input->Byte());
    }
    return chunk;
  }

  bool Take(std::string_view chunk) {
    bool taken = intake_.Take(chunk, &out_).ok();
    Flush();
    return taken;
  }

  // Takes what it holds as written, so that spans go on from there.
  void Restore(std::string_view chunk) {
    intake_.Acknowledge();
    intake_.Restore(chunk);
    spans_ = RegionSpans(fake_.region());
  }

  void Drain(size_t limit) {
    intake_.Drain(limit, &out_);
    Flush();
  }

  void Acknowledge() {
    intake_.Acknowledge();
    for (uint32_t slot = 0; slot < kMaxThreads; ++slot) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        Require(fake_.lane(slot, lane).written == spans_.end(slot, lane));
        Require(fake_.lane(slot, lane).written <= fake_.head(slot, lane));
      }
    }
  }

  void Flush() {
    spans_.Follow(out_.bytes);
    Require(out_.t_min <= out_.t_max);
    out_.Clear();
  }

  FakeRegion fake_;
  collector::LaneIntake intake_;
  RegionSpans spans_;
  collector::PendingChunk out_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  Client client;
  Input input(bytes, size);
  while (!input.empty()) {
    if (!client.Step(&input)) return 0;
  }
  client.ReadToItsEnd();
  return 0;
}
