// What stays of dropped detail.
#include <gtest/gtest.h>

#include "collector/digest.h"
#include "tests/unit/made_trace.h"

namespace ddbg::collector {
namespace {

using test::BatchOf;
using test::SomeProcess;
using test::SomeRecord;

std::string ChunkOf(const proto::Process& process) {
  proto::Chunk chunk;
  *chunk.add_packet()->mutable_process() = process;
  return chunk.SerializeAsString();
}

std::string ChunkOf(const std::vector<Record>& records, uint64_t first) {
  proto::Chunk chunk;
  *chunk.add_packet()->mutable_batch() = BatchOf(records, first);
  return chunk.SerializeAsString();
}

Record Call(MpiCall call, int64_t start_ns, uint64_t operation = 0, int32_t peer = kNoPeer, int32_t tag = 0) {
  Record record = SomeRecord(call, start_ns, 10);
  record.aux = operation;
  record.peer = peer;
  record.tag = tag;
  record.count = 2;
  return record;
}

Record Completion(int64_t start_ns, uint64_t operation, int32_t peer, int32_t tag) {
  Record record = Call(MpiCall::Wait, start_ns, operation, peer, tag);
  record.call = kCallCompletion;
  return record;
}

// What a digest says, taken apart.
struct Said {
  std::vector<std::string> chunks;
  std::vector<uint16_t> kept;                                // calls
  std::map<uint32_t, uint64_t> calls;                        // by call id, over all times
  std::map<std::pair<int32_t, int32_t>, uint64_t> messages;  // by peer and tag
  proto::Dropped dropped;

  explicit Said(const Digest& digest) {
    Result<void> done = digest.Write([&](std::string_view bytes, int64_t, int64_t) -> Result<void> {
      chunks.emplace_back(bytes);
      return {};
    });
    EXPECT_TRUE(done.ok());
    for (const std::string& bytes : chunks) {
      proto::Chunk chunk;
      EXPECT_TRUE(chunk.ParseFromString(bytes));
      for (const proto::Packet& packet : chunk.packet()) Add(packet);
    }
  }

  void Add(const proto::Packet& packet) {
    for (uint32_t call : packet.kept().call()) kept.push_back(static_cast<uint16_t>(call));
    for (int i = 0; i < packet.summary().call_size(); ++i)
      calls[packet.summary().call(i)] += packet.summary().records(i);
    if (!packet.has_dropped()) return;
    dropped = packet.dropped();
    for (int i = 0; i < dropped.call_size(); ++i) messages[{dropped.peer(i), dropped.tag(i)}] += dropped.messages(i);
  }

  size_t Bytes() const {
    size_t bytes = 0;
    for (const std::string& chunk : chunks) bytes += chunk.size();
    return bytes;
  }

  uint64_t Calls(MpiCall call) const {
    auto found = calls.find(CallId(call));
    return found == calls.end() ? 0 : found->second;
  }
};

Digest AgainAfter(const Said& said) {
  Digest digest;
  for (const std::string& chunk : said.chunks) digest.Add(chunk);
  return digest;
}

TEST(Digest, KeepsLifeCycleAndErrorsAndAddsUpTheRest) {
  Record failed = Call(MpiCall::Bcast, 300);
  failed.result = 5;
  Digest digest;
  digest.Add(ChunkOf(SomeProcess(0)));
  digest.Add(
      ChunkOf({Call(MpiCall::Init, 100), Call(MpiCall::Allreduce, 200), failed, Call(MpiCall::Allreduce, 400)}, 0));
  Said said(digest);
  EXPECT_EQ(said.kept, (std::vector<uint16_t>{CallId(MpiCall::Init), CallId(MpiCall::Bcast)}));
  EXPECT_EQ(said.Calls(MpiCall::Allreduce), 2u);
  EXPECT_EQ(said.Calls(MpiCall::Init), 0u);
  EXPECT_EQ(said.dropped.records(), 2u);
  EXPECT_EQ(said.dropped.until_ns(), 410);
  EXPECT_EQ(said.dropped.end_position(0), 4u);
}

TEST(Digest, CountsABatchThatIsThereTwiceOnce) {
  Digest digest;
  digest.Add(ChunkOf(SomeProcess(0)));
  for (int i = 0; i < 2; ++i) digest.Add(ChunkOf({Call(MpiCall::Barrier, 100), Call(MpiCall::Barrier, 200)}, 7));
  EXPECT_EQ(Said(digest).Calls(MpiCall::Barrier), 2u);
}

TEST(Digest, CountsMessagesByWhatTheyTurnedOutToBe) {
  Digest digest;
  digest.Add(ChunkOf(SomeProcess(0)));
  digest.Add(ChunkOf({Call(MpiCall::Irecv, 100, 1, kAnySource, kAnyTag), Call(MpiCall::Isend, 110, 2, 1, 5),
                      Completion(120, 1, 3, 9), Completion(121, 2, kNoPeer, 0), Call(MpiCall::Send, 130, 0, 1, 5)},
                     0));
  Said said(digest);
  std::map<std::pair<int32_t, int32_t>, uint64_t> expected{{{3, 9}, 1}, {{1, 5}, 2}};
  EXPECT_EQ(said.messages, expected);
  EXPECT_TRUE(said.kept.empty());
}

TEST(Digest, KeepsAnOperationUntilItIsOver) {
  Digest digest;
  digest.Add(ChunkOf(SomeProcess(0)));
  digest.Add(ChunkOf({Call(MpiCall::Irecv, 100, 1, kAnySource, 4)}, 0));
  Said said(digest);
  EXPECT_EQ(said.kept, std::vector<uint16_t>{CallId(MpiCall::Irecv)});
  EXPECT_EQ(said.Calls(MpiCall::Irecv), 0u);
  EXPECT_TRUE(said.messages.empty());

  Digest later = AgainAfter(said);
  later.Add(ChunkOf({Completion(200, 1, 2, 4)}, 1));
  Said then(later);
  EXPECT_TRUE(then.kept.empty());
  EXPECT_EQ(then.Calls(MpiCall::Irecv), 1u);
  EXPECT_EQ(then.messages.at({2, 4}), 1u);
}

TEST(Digest, OfADigestSaysTheSame) {
  Digest digest;
  digest.Add(ChunkOf(SomeProcess(0)));
  for (uint64_t i = 0; i < 50; ++i) {
    int64_t t = static_cast<int64_t>(i) * 100;
    digest.Add(
        ChunkOf({Call(MpiCall::Comm_dup, t), Call(MpiCall::Send, t + 1, 0, static_cast<int32_t>(i % 4), 1)}, 2 * i));
  }
  Said said(digest);
  EXPECT_EQ(Said(AgainAfter(said)).chunks, said.chunks);
}

TEST(Digest, OfARunOfWeeksStaysSmall) {
  size_t largest = 0;
  Digest digest;
  digest.Add(ChunkOf(SomeProcess(0)));
  for (uint64_t i = 0; i < 3000; ++i) {
    digest = AgainAfter(Said(digest));
    digest.Add(ChunkOf({Call(MpiCall::Allreduce, static_cast<int64_t>(i) * 1000)}, i));
    if (i % 100 == 0) largest = std::max(largest, Said(digest).Bytes());
  }
  Said said(digest);
  EXPECT_EQ(said.Calls(MpiCall::Allreduce), 3000u);
  EXPECT_LT(largest, size_t{64} << 10);
}

}  // namespace
}  // namespace ddbg::collector
