#include "proto/batch_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "proto/clock_ticks.h"
#include "proto/ddbg.pb.h"
#include "tests/unit/fake_region.h"

namespace ddbg {
namespace {

constexpr TickMapper kIdentity{0, 0, 1.0};

// The records of a batch, as a reader of ddbg.proto makes them. ns in place of ticks.
std::vector<Record> Decode(const proto::Batch& batch) {
  std::vector<Record> records(batch.records());
  int64_t start = batch.t_min_ns(), aux = 0;
  uint32_t seq = 0, stack = 0;
  auto at = [](const auto& column, size_t i) { return column.empty() ? 0 : column.Get(static_cast<int>(i)); };
  for (size_t i = 0; i < records.size(); ++i) {
    Record& record = records[i];
    record.start = static_cast<uint64_t>(start += at(batch.start(), i));
    record.duration = at(batch.duration(), i);
    record.count = at(batch.count(), i);
    record.comm = at(batch.comm(), i);
    record.seq = seq += static_cast<uint32_t>(at(batch.seq(), i));
    record.dtype = at(batch.dtype(), i);
    record.peer = at(batch.peer(), i);
    record.tag = at(batch.tag(), i);
    record.stack = stack += static_cast<uint32_t>(at(batch.stack(), i));
    record.aux = static_cast<uint64_t>(aux += at(batch.aux(), i));
    record.result = at(batch.result(), i);
    record.call = static_cast<uint16_t>(at(batch.call(), i));
    record.op = static_cast<uint8_t>(at(batch.op(), i));
    record.flags = static_cast<uint8_t>(at(batch.flags(), i));
  }
  return records;
}

proto::Chunk Parse(const std::string& bytes) {
  proto::Chunk chunk;
  EXPECT_TRUE(chunk.ParseFromString(bytes));
  return chunk;
}

// Everything a lane holds, by as many calls as it takes.
struct Encoded {
  std::vector<Record> records;
  std::vector<std::pair<uint64_t, std::string>> definitions;  // position, payload
  uint64_t position;
  size_t bytes = 0;
};

Encoded EncodeAll(const FakeRegion& fake, uint32_t slot, uint32_t lane, uint64_t first, const TickMapper& mapper) {
  Encoded all;
  all.position = first;
  std::string bytes;
  while (all.position < fake.head(slot, lane)) {
    bytes.clear();
    uint64_t next = EncodeLane(fake.region(), slot, lane, all.position, fake.head(slot, lane), mapper, &bytes);
    EXPECT_GT(next, all.position);
    if (next == all.position) break;
    EXPECT_LT(bytes.size(), size_t{4} << 20);
    all.bytes += bytes.size();
    proto::Chunk chunk = Parse(bytes);
    for (const proto::Packet& packet : chunk.packet()) {
      if (packet.has_batch()) {
        EXPECT_EQ(packet.batch().first_position(), all.position);
        EXPECT_EQ(packet.batch().end_position(), next);
        std::vector<Record> records = Decode(packet.batch());
        all.records.insert(all.records.end(), records.begin(), records.end());
      } else {
        for (int i = 0; i < packet.definitions().definition_size(); ++i) {
          all.definitions.emplace_back(packet.definitions().position(i),
                                       packet.definitions().definition(i).SerializeAsString());
        }
      }
    }
    all.position = next;
  }
  return all;
}

std::string StackDefinition(uint32_t id, int frames) {
  proto::Definition definition;
  definition.mutable_stack()->set_id(id);
  for (int i = 0; i < frames; ++i) definition.mutable_stack()->add_frame(i * 1000 + 1);
  return definition.SerializeAsString();
}

Record RandomRecord(std::mt19937_64* random) {
  Record record;
  uint64_t words[8];
  for (uint64_t& word : words) word = (*random)() >> ((*random)() % 64);
  std::memcpy(&record, words, sizeof(record));
  record.start = (*random)() >> 2;
  record.duration = (*random)() >> 12;  // exact in a double
  record.start &= ~uint64_t{0xfff};
  if (record.call < kFirstCall) record.call += kFirstCall;
  return record;
}

TEST(BatchEncoder, GivesBackEveryFieldOfEveryRecord) {
  FakeRegion fake;
  std::mt19937_64 random(1);
  std::vector<Record> published;
  for (int i = 0; i < 5000; ++i) {
    published.push_back(RandomRecord(&random));
    fake.Publish(3, kBulkLane, published.back());
  }

  Encoded got = EncodeAll(fake, 3, kBulkLane, 0, kIdentity);

  ASSERT_EQ(got.records.size(), published.size());
  EXPECT_EQ(std::memcmp(got.records.data(), published.data(), published.size() * sizeof(Record)), 0);
  EXPECT_EQ(got.position, 5000u);
}

TEST(BatchEncoder, LeavesOutColumnsThatAreAllZero) {
  FakeRegion fake;
  fake.SetTid(0, 77);
  for (uint64_t i = 0; i < 3; ++i) {
    Record record{};
    record.start = 100 + i;
    record.call = kFirstCall;
    fake.Publish(0, kVitalLane, record);
  }
  std::string bytes;
  EXPECT_EQ(EncodeLane(fake.region(), 0, kVitalLane, 0, 3, kIdentity, &bytes), 3u);

  proto::Chunk chunk = Parse(bytes);
  ASSERT_EQ(chunk.packet_size(), 1);
  const proto::Batch& batch = chunk.packet(0).batch();
  EXPECT_EQ(batch.tid(), 77u);
  EXPECT_EQ(batch.records(), 3u);
  EXPECT_EQ(batch.t_min_ns(), 100);
  EXPECT_EQ(batch.t_max_ns(), 102);
  EXPECT_EQ(batch.start_size(), 3);
  EXPECT_EQ(batch.call_size(), 3);
  EXPECT_EQ(batch.duration_size() + batch.count_size() + batch.comm_size() + batch.seq_size() + batch.dtype_size() +
                batch.peer_size() + batch.tag_size() + batch.stack_size() + batch.aux_size() + batch.result_size() +
                batch.op_size() + batch.flags_size(),
            0);
}

TEST(BatchEncoder, AppendsToWhatTheChunkHolds) {
  FakeRegion fake;
  fake.Publish(0, kVitalLane, FakeRegion::Call(5));
  fake.Publish(1, kBulkLane, FakeRegion::Call(6));
  std::string bytes;
  EncodeLane(fake.region(), 0, kVitalLane, 0, 1, kIdentity, &bytes);
  EncodeLane(fake.region(), 1, kBulkLane, 0, 1, kIdentity, &bytes);

  proto::Chunk chunk = Parse(bytes);
  ASSERT_EQ(chunk.packet_size(), 2);
  EXPECT_EQ(chunk.packet(0).batch().thread(), 0u);
  EXPECT_EQ(chunk.packet(1).batch().thread(), 1u);
  EXPECT_EQ(chunk.packet(1).batch().lane(), uint32_t{kBulkLane});
}

TEST(BatchEncoder, ConvertsTicksToMonotonicNs) {
  FakeRegion fake;
  fake.Publish(0, kVitalLane, FakeRegion::Call(3000, 500));
  fake.Publish(0, kVitalLane, FakeRegion::Call(1000, 100));
  TickMapper mapper{2000, 1'000'000, 0.5};

  Encoded got = EncodeAll(fake, 0, kVitalLane, 0, mapper);

  ASSERT_EQ(got.records.size(), 2u);
  EXPECT_EQ(got.records[0].start, 1'000'500u);
  EXPECT_EQ(got.records[0].duration, 250u);
  EXPECT_EQ(got.records[1].start, 999'500u);
}

TEST(BatchEncoder, KeepsDefinitionsWholeWhereTheRingWraps) {
  // A definition of 5 payload cells, at every place around the end of the ring.
  std::string payload = StackDefinition(9, 130);
  uint64_t cells = 1 + (payload.size() + kCellBytes - 1) / kCellBytes;
  ASSERT_GT(cells, 4u);
  for (uint64_t before_end = 0; before_end <= cells; ++before_end) {
    FakeRegion fake;
    uint64_t first = 3 * kLaneCells[kVitalLane] - before_end;
    fake.StartLaneAt(0, kVitalLane, first);
    fake.PublishDefinition(0, kVitalLane, payload);
    fake.Publish(0, kVitalLane, FakeRegion::Call(8));

    Encoded got = EncodeAll(fake, 0, kVitalLane, first, kIdentity);

    ASSERT_EQ(got.definitions.size(), 1u);
    EXPECT_EQ(got.definitions[0].first, first);
    EXPECT_EQ(got.definitions[0].second, payload);
    ASSERT_EQ(got.records.size(), 1u);
    EXPECT_EQ(got.records[0].start, 8u);
  }
}

TEST(BatchEncoder, NeverSplitsADefinitionAtItsLimit) {
  std::string payload = StackDefinition(9, 100);
  uint64_t cells = 1 + (payload.size() + kCellBytes - 1) / kCellBytes;
  for (uint64_t before = kMaxBatchCells - cells - 1; before <= kMaxBatchCells + 1; ++before) {
    FakeRegion fake;
    for (uint64_t i = 0; i < before; ++i) fake.Publish(0, kVitalLane, FakeRegion::Call(i));
    fake.PublishDefinition(0, kVitalLane, payload);
    fake.Publish(0, kVitalLane, FakeRegion::Call(before));

    Encoded got = EncodeAll(fake, 0, kVitalLane, 0, kIdentity);

    ASSERT_EQ(got.definitions.size(), 1u);
    EXPECT_EQ(got.definitions[0].first, before);
    EXPECT_EQ(got.definitions[0].second, payload);
    EXPECT_EQ(got.records.size(), before + 1);
  }
}

TEST(BatchEncoder, TakesADefinitionAsLargeAsTheRing) {
  FakeRegion fake;
  proto::Definition definition;
  definition.mutable_communicator()->set_name(std::string((kLaneCells[kVitalLane] - 1) * kCellBytes - 16, 'x'));
  std::string payload = definition.SerializeAsString();
  fake.PublishDefinition(0, kVitalLane, payload);
  ASSERT_EQ(fake.head(0, kVitalLane), kLaneCells[kVitalLane]);

  Encoded got = EncodeAll(fake, 0, kVitalLane, 0, kIdentity);

  ASSERT_EQ(got.definitions.size(), 1u);
  EXPECT_EQ(got.definitions[0].second, payload);
}

TEST(BatchEncoder, KeepsAnEmptyDefinition) {
  FakeRegion fake;
  fake.PublishDefinition(0, kVitalLane, "");
  fake.Publish(0, kVitalLane, FakeRegion::Call(1));
  Encoded got = EncodeAll(fake, 0, kVitalLane, 0, kIdentity);
  EXPECT_EQ(got.definitions.size(), 1u);
  EXPECT_EQ(got.records.size(), 1u);
}

TEST(BatchEncoder, PassesOverADefinitionOfAbsurdSize) {
  for (uint64_t claimed : {uint64_t{65}, uint64_t{1} << 20, uint64_t{1} << 40, ~uint64_t{0} - 1, ~uint64_t{0} - 62}) {
    FakeRegion fake;
    fake.Publish(0, kVitalLane, FakeRegion::Call(1));
    fake.PublishDefinition(0, kVitalLane, "payload", claimed);

    Encoded got = EncodeAll(fake, 0, kVitalLane, 0, kIdentity);

    EXPECT_EQ(got.records.size(), 1u);
    EXPECT_TRUE(got.definitions.empty());
    EXPECT_EQ(got.position, 3u);
  }
}

TEST(BatchEncoder, SurvivesAnyCells) {
  FakeRegion fake;
  std::mt19937_64 random(7);
  for (uint32_t lane : {kVitalLane, kBulkLane}) {
    auto* words = reinterpret_cast<uint64_t*>(fake.region().cells(5, lane));
    for (uint64_t i = 0; i < kLaneCells[lane] * 8; ++i) words[i] = random();
    // Definitions in plenty, small ones among them.
    for (uint64_t i = 0; i < kLaneCells[lane]; i += 1 + random() % 9) {
      fake.cell(5, lane, i)->call = kCallDefinition;
      fake.cell(5, lane, i)->count = random() >> (random() % 64);
    }
  }
  for (double ns_per_tick : {1e-3, 1.0, 1e6}) {
    for (int i = 0; i < 300; ++i) {
      uint32_t lane = random() % kLanes;
      uint64_t first = random() >> (random() % 64);
      uint64_t end = first + random() % (kLaneCells[lane] + 1);
      std::string bytes;
      uint64_t next = EncodeLane(fake.region(), 5, lane, first, end, {random(), INT64_MAX, ns_per_tick}, &bytes);
      EXPECT_LT(bytes.size(), size_t{4} << 20);
      if (end > first) {
        EXPECT_TRUE(next > first && next <= end);
      }
    }
  }
}

TEST(BatchEncoder, RefusesPositionsThatCannotBe) {
  FakeRegion fake;
  std::string bytes;
  EXPECT_EQ(EncodeLane(fake.region(), 0, kVitalLane, 10, 10, kIdentity, &bytes), 10u);
  EXPECT_EQ(EncodeLane(fake.region(), 0, kVitalLane, 10, 9, kIdentity, &bytes), 10u);
  EXPECT_EQ(EncodeLane(fake.region(), 0, kVitalLane, 0, kLaneCells[kVitalLane] + 1, kIdentity, &bytes), 0u);
  EXPECT_EQ(EncodeLane(fake.region(), kMaxThreads, kVitalLane, 0, 1, kIdentity, &bytes), 0u);
  EXPECT_EQ(EncodeLane(fake.region(), 0, kLanes, 0, 1, kIdentity, &bytes), 0u);
  EXPECT_TRUE(bytes.empty());
}

TEST(BatchEncoder, NeedsFewBytesForATypicalRecord) {
  FakeRegion fake;
  for (uint64_t i = 0; i < 4000; ++i) {
    Record record = FakeRegion::Call(1'000'000 + i * 12'345, 2'345, kFirstCall + i % 3);
    record.comm = 1;
    record.seq = static_cast<uint32_t>(i);
    record.count = 4096;
    record.dtype = 7;
    record.stack = 3 + i % 3;
    record.op = kOpSum;
    fake.Publish(0, kVitalLane, record);
  }
  Encoded got = EncodeAll(fake, 0, kVitalLane, 0, kIdentity);
  EXPECT_LT(got.bytes, 4000u * 32);
}

TEST(OpenCall, IsCopiedWithItsRequestsAndBothHalves) {
  FakeRegion fake;
  fake.SetTid(2, 4711);
  Record send = FakeRegion::Call(1000, 0, 20), receive = FakeRegion::Call(1000, 0, 20);
  send.peer = 3;
  receive.peer = kAnySource;
  fake.Enter(2, send, {11, 0, 13}, &receive);
  std::string bytes;
  ASSERT_TRUE(EncodeOpenCall(fake.region(), 2, {0, 50, 1.0}, 9999, &bytes));

  proto::Chunk chunk = Parse(bytes);
  const proto::OpenCall& open = chunk.packet(0).open_call();
  EXPECT_EQ(open.thread(), 2u);
  EXPECT_EQ(open.tid(), 4711u);
  EXPECT_EQ(open.seen_ns(), 9999);
  EXPECT_EQ(open.request_count(), 3u);
  ASSERT_EQ(open.request_size(), 2);  // a zero is no request
  EXPECT_EQ(open.request(1), 13u);
  ASSERT_EQ(open.half_size(), 2);
  EXPECT_EQ(open.half(0).start_ns(), 1050);
  EXPECT_EQ(open.half(0).peer(), 3);
  EXPECT_EQ(open.half(1).peer(), kAnySource);
}

TEST(OpenCall, IsNoneBetweenCalls) {
  FakeRegion fake;
  std::string bytes;
  EXPECT_FALSE(EncodeOpenCall(fake.region(), 0, kIdentity, 1, &bytes));
  fake.Enter(0, FakeRegion::Call(1));
  fake.Leave(0);
  EXPECT_FALSE(EncodeOpenCall(fake.region(), 0, kIdentity, 1, &bytes));
  EXPECT_FALSE(EncodeOpenCall(fake.region(), kMaxThreads, kIdentity, 1, &bytes));
  EXPECT_TRUE(bytes.empty());
}

TEST(TickMapper, UsesTheSendersCalibrationIfItIsSane) {
  FakeRegion fake;
  RegionHeader* header = fake.region().header();
  header->clock_kind = ClockKind::kTsc;
  header->clock_ns_per_tick_bits.store(std::bit_cast<uint64_t>(0.4));
  EXPECT_EQ(MakeTickMapper(*header).ns_per_tick, 0.4);
  for (double insane : {0.0, -1.0, 1e300, std::nan(""), HUGE_VAL}) {
    header->clock_ns_per_tick_bits.store(std::bit_cast<uint64_t>(insane));
    double made = MakeTickMapper(*header).ns_per_tick;
    EXPECT_TRUE(made >= 1e-3 && made <= 1e6) << insane;
  }
}

TEST(TickMapper, CalibratesARegionWithoutCalibration) {
  FakeRegion fake;
  RegionHeader* header = fake.region().header();
  header->clock_kind = ClockKind::kTsc;
  header->clock_start = {ReadTicks(ClockKind::kTsc), MonotonicNs(), 0};
  while (MonotonicNs() - header->clock_start.monotonic_ns < 2'000'000) {
  }
  // The two clocks are read one after the other, and anything may come between.
  int64_t closest = INT64_MAX;
  for (int i = 0; i < 100 && closest > 1'000'000; ++i) {
    TickMapper mapper = MakeTickMapper(*header);
    int64_t before = MonotonicNs();
    closest = std::min(closest, std::abs(mapper.Ns(ReadTicks(ClockKind::kTsc)) - before));
  }
  EXPECT_LE(closest, 1'000'000);
}

TEST(TickMapper, TakesMonotonicTicksAsNs) {
  FakeRegion fake;
  TickMapper mapper = MakeTickMapper(*fake.region().header());
  uint64_t now = ReadTicks(ClockKind::kMonotonic);
  EXPECT_EQ(mapper.Ns(now), static_cast<int64_t>(now));
}

}  // namespace
}  // namespace ddbg
