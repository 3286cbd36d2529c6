// What the collector takes of a client's frames, and how often: positions decide.
#include <gtest/gtest.h>

#include "collector/lane_intake.h"
#include "collector/wire_chunk.h"
#include "proto/ddbg.pb.h"
#include "tests/unit/fake_region.h"

namespace ddbg::collector {
namespace {

class LaneIntakeTest : public ::testing::Test {
 protected:
  LaneIntakeTest() : intake_(fake_.region()) {}

  // A chunk of the cells [first, end) as the shim would send it.
  std::string Encode(uint64_t first, uint64_t end) const {
    std::string chunk;
    EncodeLane(fake_.region(), 0, kVitalLane, first, end, {}, &chunk);
    return chunk;
  }

  void Publish(uint64_t records) {
    while (records-- > 0) {
      Record record = FakeRegion::Call(1);
      record.count = published_++;
      fake_.Publish(0, kVitalLane, record);
    }
  }

  // The `count` fields of what was taken.
  std::vector<uint64_t> Taken() const {
    std::vector<uint64_t> counts;
    proto::Chunk chunk;
    EXPECT_TRUE(chunk.ParseFromString(out_.bytes));
    for (const proto::Packet& packet : chunk.packet()) {
      for (uint64_t count : packet.batch().count()) counts.push_back(count);
    }
    return counts;
  }

  FakeRegion fake_;
  LaneIntake intake_;
  PendingChunk out_;
  uint64_t published_ = 1;
};

TEST_F(LaneIntakeTest, TakesWhatFollows) {
  Publish(10);
  EXPECT_TRUE(intake_.Take(Encode(0, 4), &out_).ok());
  EXPECT_TRUE(intake_.Take(Encode(4, 10), &out_).ok());
  EXPECT_EQ(Taken().size(), 10u);
  EXPECT_EQ(out_.records, 10u);
  EXPECT_EQ(intake_.UntakenCells(), 0u);
}

TEST_F(LaneIntakeTest, AcknowledgesOnlyWhatWasTaken) {
  Publish(10);
  EXPECT_TRUE(intake_.Take(Encode(0, 4), &out_).ok());
  EXPECT_EQ(fake_.lane(0, kVitalLane).written, 0u);
  intake_.Acknowledge();
  EXPECT_EQ(fake_.lane(0, kVitalLane).written, 4u);
}

TEST_F(LaneIntakeTest, DropsRepetitionsWithTheirDefinitions) {
  fake_.PublishDefinition(0, kVitalLane, std::string("\x0a\x02\x08\x05", 4));
  Publish(4);
  EXPECT_TRUE(intake_.Take(Encode(0, 6), &out_).ok());
  size_t once = out_.bytes.size();
  EXPECT_TRUE(intake_.Take(Encode(0, 6), &out_).ok());
  EXPECT_TRUE(intake_.Take(Encode(0, 3), &out_).ok());
  EXPECT_EQ(out_.bytes.size(), once);
}

TEST_F(LaneIntakeTest, TakesTheNewPartOfAnOverlapFromTheRing) {
  Publish(6);
  fake_.PublishDefinition(0, kVitalLane, std::string("\x0a\x02\x08\x05", 4));
  Publish(2);
  EXPECT_TRUE(intake_.Take(Encode(0, 4), &out_).ok());
  EXPECT_TRUE(intake_.Take(Encode(2, 10), &out_).ok());
  EXPECT_EQ(Taken(), (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  proto::Chunk chunk;
  ASSERT_TRUE(chunk.ParseFromString(out_.bytes));
  int definitions = 0;
  for (const proto::Packet& packet : chunk.packet()) definitions += packet.definitions().definition_size();
  EXPECT_EQ(definitions, 1);
}

TEST_F(LaneIntakeTest, RefusesAGap) {
  Publish(10);
  EXPECT_TRUE(intake_.Take(Encode(0, 4), &out_).ok());
  Result<void> taken = intake_.Take(Encode(5, 10), &out_);
  ASSERT_FALSE(taken.ok());
  EXPECT_NE(taken.error().text.find("a batch after a gap (thread 0, lane 0, cells 5 to 10 where 4 comes next)"),
            std::string::npos)
      << taken.error().text;
}

TEST_F(LaneIntakeTest, RefusesPositionsThatTheRingCannotHave) {
  Publish(10);
  auto batch = [](uint32_t thread, uint32_t lane, uint64_t first, uint64_t end, uint32_t records) {
    proto::Chunk chunk;
    proto::Batch* batch = chunk.add_packet()->mutable_batch();
    batch->set_thread(thread);
    batch->set_lane(lane);
    batch->set_first_position(first);
    batch->set_end_position(end);
    batch->set_records(records);
    return chunk.SerializeAsString();
  };
  EXPECT_FALSE(intake_.Take(batch(0, 0, 0, 11, 1), &out_).ok());           // not published
  EXPECT_FALSE(intake_.Take(batch(0, 0, 5, 4, 0), &out_).ok());            // backwards
  EXPECT_FALSE(intake_.Take(batch(0, 0, 0, 10, 11), &out_).ok());          // more records than cells
  EXPECT_FALSE(intake_.Take(batch(kMaxThreads, 0, 0, 1, 1), &out_).ok());  // no such thread
  EXPECT_FALSE(intake_.Take(batch(0, kLanes, 0, 1, 1), &out_).ok());       // no such lane
  EXPECT_FALSE(intake_.Take(batch(0, 0, 0, ~uint64_t{0}, 1), &out_).ok());
  EXPECT_TRUE(intake_.Take(batch(0, 0, 0, 10, 10), &out_).ok());
}

TEST_F(LaneIntakeTest, RefusesBytesThatAreNoChunk) {
  for (std::string bytes : {std::string("garbage"), std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11),
                            std::string("\x0a\x05", 2), std::string("\x0a\x00", 2), std::string(100, '\0')}) {
    EXPECT_FALSE(intake_.Take(bytes, &out_).ok());
  }
}

TEST_F(LaneIntakeTest, AsksForAFlushBeforeARingFillsUp) {
  Publish(kLaneCells[kVitalLane] / 4 - 1);
  EXPECT_TRUE(intake_.Drain(1 << 20, &out_));
  EXPECT_FALSE(intake_.NeedsFlush());
  Publish(1);
  EXPECT_TRUE(intake_.Drain(1 << 20, &out_));
  EXPECT_TRUE(intake_.NeedsFlush());
  intake_.Acknowledge();
  EXPECT_FALSE(intake_.NeedsFlush());
}

TEST_F(LaneIntakeTest, DrainsInPiecesUpToALimit) {
  Publish(5000);
  int pieces = 0;
  std::vector<uint64_t> all;
  for (bool done = false; !done; ++pieces) {
    done = intake_.Drain(1, &out_);
    for (uint64_t count : Taken()) all.push_back(count);
    out_.Clear();
  }
  EXPECT_EQ(all.size(), 5000u);
  EXPECT_GE(pieces, 1);
  EXPECT_EQ(intake_.UntakenCells(), 0u);
}

TEST_F(LaneIntakeTest, CountsLanesWithDamagedPositions) {
  Publish(5);
  fake_.lane(3, kBulkLane).head = kLaneCells[kBulkLane] + 1;
  EXPECT_TRUE(intake_.Drain(1 << 20, &out_));
  EXPECT_EQ(intake_.damaged_lanes(), 1u);
  EXPECT_EQ(Taken().size(), 5u);
}

TEST_F(LaneIntakeTest, GoesOnBehindTheLastFrameOfAFile) {
  Publish(10);
  intake_.Restore(Encode(0, 4));
  EXPECT_EQ(fake_.lane(0, kVitalLane).written, 4u);
  EXPECT_TRUE(intake_.Take(Encode(0, 4), &out_).ok());
  EXPECT_TRUE(out_.bytes.empty());
  EXPECT_TRUE(intake_.Take(Encode(4, 10), &out_).ok());
}

TEST(ReadHello, TakesOneProcessPacketOnly) {
  proto::Chunk chunk;
  proto::Process* process = chunk.add_packet()->mutable_process();
  process->set_run_id("id");
  process->set_rank(-1);
  process->set_attempt_id(3);
  process->set_host("node1");
  process->set_pid(99);
  process->set_boot_id("boot");
  process->set_start_monotonic_ns(-5);
  process->set_trace_dir("/runs");
  process->add_argv("python");
  Result<Hello> hello = ReadHello(chunk.SerializeAsString());
  ASSERT_TRUE(hello.ok()) << hello.error().text;
  EXPECT_EQ(hello->run_id, "id");
  EXPECT_EQ(hello->rank, -1);
  EXPECT_EQ(hello->attempt, 3u);
  EXPECT_EQ(hello->host, "node1");
  EXPECT_EQ(hello->pid, 99);
  EXPECT_EQ(hello->start_monotonic_ns, -5);

  process->set_trace_dir("runs");
  EXPECT_FALSE(ReadHello(chunk.SerializeAsString()).ok());
  process->set_trace_dir("/runs");
  chunk.add_packet()->mutable_clock();
  EXPECT_FALSE(ReadHello(chunk.SerializeAsString()).ok());
  EXPECT_FALSE(ReadHello("").ok());
}

}  // namespace
}  // namespace ddbg::collector
