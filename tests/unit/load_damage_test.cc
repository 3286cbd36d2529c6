// Trace files that are not whole, and bytes that no collector wrote.
#include <gtest/gtest.h>

#include "analyzer/load/load.h"
#include "analyzer/load/process_loader.h"
#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/trace_file.h"

namespace ddbg::analyzer {
namespace {

using test::Allreduce;
using test::BatchOf;
using test::OpenAllreduce;
using test::SomeDatatype;
using test::SomeProcess;
using test::SomeRecord;
using test::SomeStack;
using test::TraceFile;
using test::WorldCommunicator;

TEST(Load, TellsAGapInTheMiddle) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000)}, 0)).Add(BatchOf({Allreduce(5, 6000)}, 5));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->damage.size(), 1u);
  EXPECT_NE(process->damage[0].find("up to 4 records"), std::string::npos) << process->damage[0];
}

TEST(Load, CountsLossesByTheEndOrByRecordsWhicheverIsMore) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  Record lost = SomeRecord(MpiCall::Init, 1000, 10);
  lost.call = kCallLost;
  lost.count = 7;
  lost.aux = kLossRingFull;
  file.Add(BatchOf({lost}, 0));
  file.AddEnd(proto::ProcessEnd::EXITED, 0, 9000);
  ASSERT_TRUE(file.Finish());
  EXPECT_EQ(LoadProcess(dir / "r.ddbg")->lost_total(), 7u);

  TraceFile more(dir / "s.ddbg", SomeProcess(0));
  more.Add(BatchOf({lost}, 0));
  proto::ProcessEnd* end = more.Add()->mutable_end();
  end->set_how(proto::ProcessEnd::SIGNALED);
  for (uint64_t n : {12, 1}) end->add_lost(n);
  ASSERT_TRUE(more.Finish());
  EXPECT_EQ(LoadProcess(dir / "s.ddbg")->lost_total(), 13u);
}

TEST(Load, OnlyTroublesThatDidNotEndAreDamage) {
  ScratchDir dir;
  for (bool ended : {false, true}) {
    std::string path = dir / (ended ? "ended.ddbg" : "lasting.ddbg");
    TraceFile file(path, SomeProcess(0));
    for (auto kind : {proto::Note::COLLECTOR_STARTED, proto::Note::DISK_FULL, proto::Note::DISK_RESUMED}) {
      if (kind == proto::Note::DISK_RESUMED && !ended) continue;
      proto::Note* note = file.Add()->mutable_note();
      note->set_kind(kind);
      note->set_text("no space left");
    }
    ASSERT_TRUE(file.Finish());
    EXPECT_EQ(LoadProcess(path)->damage.size(), ended ? 0u : 1u);
  }
}

TEST(Load, UnreadableFilesAreNamedAndTheRestIsUsed) {
  ScratchDir dir;
  ASSERT_TRUE(TraceFile(dir / "rank-00000.ddbg", SomeProcess(0)).AddEnd(proto::ProcessEnd::EXITED, 0, 5).Finish());
  WriteBytes(dir / "rank-00001.ddbg", "");
  WriteBytes(dir / "rank-00002.ddbg", "#!/bin/sh");
  ASSERT_TRUE(TraceWriter::Create(dir / "rank-00003.ddbg", "").ok());  // a chunk without a Process packet
  WriteBytes(dir / "node-a.ddbg", "");                                 // no rank: nothing to miss
  auto run = LoadRun({dir.path(), ListTraceFiles(dir.path())});
  EXPECT_EQ(run.processes.size(), 1u);
  EXPECT_EQ(run.unreadable.size(), 3u);
  auto none = LoadRun({dir.path(), {dir / "nothing-here.ddbg"}});
  EXPECT_TRUE(none.processes.empty());
  EXPECT_EQ(none.unreadable.size(), 1u);
}

// A file with every packet, for the tests that damage it.
std::string SomeFile(const ScratchDir& dir) {
  std::string path = dir / "whole.ddbg";
  TraceFile file(path, SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000), Allreduce(1, 2000)}, 0, 6));
  file.Add({WorldCommunicator(1, 0, 2), SomeDatatype(2)}, {0, 3}).Cut();
  file.Add(BatchOf({Allreduce(2, 3000), Allreduce(3, 4000)}, 6)).Cut();
  file.Add({SomeStack(3, {0x1000, 5})}, {8}).Cut();
  *file.Add()->mutable_open_call() = OpenAllreduce(4, 5000, 9000);
  proto::Module* module = file.Add()->mutable_modules()->add_module();
  module->set_path("/bin/true");
  module->set_end(0x2000);
  file.AddEnd(proto::ProcessEnd::SIGNALED, 9, 9900);
  EXPECT_TRUE(file.Finish());
  return ReadBytes(path);
}

TEST(Load, EveryTruncatedLengthGivesAPrefixOfTheCallsAndASentence) {
  ScratchDir dir;
  std::string whole = SomeFile(dir);
  std::string path = dir / "cut.ddbg";
  for (size_t length = 0; length < whole.size(); ++length) {
    WriteBytes(path, whole.substr(0, length));
    auto run = LoadRun({dir.path(), {path}});
    if (run.processes.empty()) {
      ASSERT_EQ(run.unreadable.size(), 1u) << length;
      continue;
    }
    const Process& p = run.processes[0];
    int64_t expected = 1000;
    for (const Call& call : p.calls) {
      ASSERT_EQ(call.start_ns, expected) << length;
      expected += 1000;
    }
    bool at_a_frame = p.damage.empty();  // nothing tells that a frame is missing after a whole one
    ASSERT_TRUE(at_a_frame || p.damage[0].find("truncated") != std::string::npos) << length << p.damage[0];
  }
  WriteBytes(path, whole);
  EXPECT_EQ(LoadRun({dir.path(), {path}}).processes.at(0).calls.size(), 5u);
}

TEST(Load, EveryFlippedByteIsNoticedAndNoCallIsInvented) {
  ScratchDir dir;
  std::string whole = SomeFile(dir);
  std::string path = dir / "flipped.ddbg";
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    WriteBytes(path, bytes);
    auto run = LoadRun({dir.path(), {path}});
    ASSERT_EQ(run.processes.size() + run.unreadable.size(), 1u) << at;
    if (run.processes.empty()) continue;
    const Process& p = run.processes[0];
    ASSERT_FALSE(p.damage.empty()) << at;
    for (const Call& call : p.calls) ASSERT_TRUE(call.start_ns % 1000 == 0 && call.start_ns <= 5000) << at;
  }
}

// The CRC keeps damaged bytes from the parser; here it gets them all the same.
TEST(ProcessLoader, SurvivesAnyBytes) {
  proto::Chunk chunk;
  *chunk.add_packet()->mutable_process() = SomeProcess(0);
  *chunk.add_packet()->mutable_batch() = BatchOf({Allreduce(0, 1000), Allreduce(1, 2000)}, 0, 4);
  *chunk.add_packet()->mutable_definitions()->add_definition() = SomeDatatype(2);
  *chunk.add_packet()->mutable_batch() = BatchOf({Allreduce(1, 2000), Allreduce(2, 3000)}, 3, 6);
  *chunk.add_packet()->mutable_open_call() = OpenAllreduce(4, 5000, 9000);
  std::string whole = chunk.SerializeAsString();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      ProcessLoader loader;
      loader.Add(bytes);
      ASSERT_LE(loader.Finish("f").calls.size(), 6u);
    }
    ProcessLoader loader;
    loader.Add(std::string_view(whole).substr(0, at));
    loader.Finish("f");
  }
}

TEST(ProcessLoader, TakesNoMoreThanTheBytesCanAccountFor) {
  proto::Chunk chunk;
  proto::Batch* batch = chunk.add_packet()->mutable_batch();
  batch->set_end_position(3'000'000'000);
  batch->set_records(3'000'000'000);
  for (uint32_t id = 1; id <= 200; ++id) {
    proto::Communicator* comm = chunk.add_packet()->mutable_definitions()->add_definition()->mutable_communicator();
    comm->set_id(id);
    comm->set_uid(id);
    for (int32_t run : {0, 16 << 20, 1}) comm->add_members(run);
  }
  ProcessLoader loader;
  loader.Add(chunk.SerializeAsString());
  Process process = loader.Finish("file");
  EXPECT_TRUE(process.calls.empty());
  size_t members = 0;
  for (const auto& [id, comm] : process.comms) members += comm.members.size();
  EXPECT_LE(members, size_t{64} << 20);
  EXPECT_FALSE(process.damage.empty());
}

TEST(ProcessLoader, RefusesColumnsOfUnequalLength) {
  proto::Chunk chunk;
  proto::Batch batch = BatchOf({Allreduce(0, 1000), Allreduce(1, 2000)}, 0);
  batch.mutable_count()->RemoveLast();
  *chunk.add_packet()->mutable_batch() = batch;
  ProcessLoader loader;
  loader.Add(chunk.SerializeAsString());
  Process process = loader.Finish("f");
  EXPECT_TRUE(process.calls.empty());
  EXPECT_EQ(process.damage.size(), 1u);
}

}  // namespace
}  // namespace ddbg::analyzer
