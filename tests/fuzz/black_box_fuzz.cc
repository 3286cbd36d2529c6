// The region of a hostile process or one that died in the middle of anything: mapped, read to its end, and its calls in
// flight, losses and exit record told. Bytes are laid over header, slots and cells.
//
//     input = patch*        kind u8: 0 header: offset u8, size u8, bytes
//                                    1 slot:   which u8, offset u16, size u8, bytes
//                                    2 cells:  which u8, cell u16, size u8, bytes
//                                    3 a lane's positions: which u8, written u16, cells u8, 255: all
#include <fcntl.h>

#include <bit>

#include "collector/black_box.h"
#include "collector/client_region.h"
#include "collector/lane_intake.h"
#include "proto/clock_ticks.h"
#include "tests/fuzz/region_spans.h"
#include "tests/unit/fake_region.h"

using namespace ddbg;
using namespace ddbg::fuzz;

namespace {

constexpr size_t kPiece = 64 << 10;

// The first and last ones; more of them would only make an input slow.
uint32_t SomeSlot(uint8_t which) {
  constexpr uint32_t kSlots[] = {0, 1, kMaxThreads - 2, kMaxThreads - 1};
  return kSlots[which / 2 % 4];
}

void Lay(std::string_view bytes, void* over, size_t offset, size_t size) {
  offset %= size;
  bytes = bytes.substr(0, size - offset);
  std::memcpy(static_cast<char*>(over) + offset, bytes.data(), bytes.size());
}

void Patch(Input* input, const FakeRegion& fake) {
  const Region& region = fake.region();
  uint8_t kind = input->Byte() % 4;
  if (kind == 0) {
    uint8_t offset = input->Byte();
    return Lay(input->Bytes(input->Byte()), region.header(), offset, sizeof(RegionHeader));
  }
  uint8_t which = input->Byte();
  uint32_t slot = SomeSlot(which), lane = which % kLanes;
  uint16_t at = input->Word();
  if (kind == 1) return Lay(input->Bytes(input->Byte()), region.slot(slot), at, sizeof(ThreadSlot));
  if (kind == 2) {
    size_t size = kLaneCells[lane] * kCellBytes;
    return Lay(input->Bytes(input->Byte()), region.cells(slot, lane), at * kCellBytes, size);
  }
  fake.lane(slot, lane).written = at;
  uint8_t cells = input->Byte();  // few, since more would only take longer
  fake.lane(slot, lane).head = at + (cells == 255 ? kLaneCells[lane] : cells);
}

void ReadToItsEnd(const Region& region) {
  collector::LaneIntake intake(region);
  RegionSpans spans(region);
  collector::PendingChunk pending;
  for (bool all = false; !all; pending.Clear()) {
    all = intake.Drain(kPiece, &pending);
    Require(all || !pending.bytes.empty());
    spans.Follow(pending.bytes);
    intake.Acknowledge();
  }
  Require(intake.UntakenCells() == 0 && intake.damaged_lanes() == 0);  // Map has refused what cannot be read
  collector::AppendCallsInFlight(region, MakeTickMapper(*region.header()), MonotonicNs(), &pending.bytes);
  collector::ProcessEnding ending = collector::EndingFromExitRecord(region);
  collector::AppendProcessEnd(ending, {MonotonicNs(), false, collector::SumLost(region), {}}, &pending.bytes);
  spans.Follow(pending.bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FakeRegion fake;
  for (Input input(bytes, size); !input.empty();) Patch(&input, fake);
  Result<collector::ClientRegion> mapped =
      collector::ClientRegion::Map(collector::UniqueFd{fcntl(fake.fd(), F_DUPFD_CLOEXEC, 0)});
  if (mapped) {
    ReadToItsEnd(mapped->region());
  } else {
    // A process may damage its region after it was mapped: then lanes are passed over.
    collector::LaneIntake intake(fake.region());
    collector::PendingChunk pending;
    while (!intake.Drain(kPiece, &pending)) pending.Clear();
    collector::AppendCallsInFlight(fake.region(), MakeTickMapper(*fake.region().header()), 0, &pending.bytes);
  }
  return 0;
}
