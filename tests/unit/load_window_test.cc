// Parts of runs: the end of one, files of several attempts, copies.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "analyzer/load/load.h"
#include "analyzer/match/match.h"
#include "analyzer/verdict/diagnose.h"
#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/trace_file.h"

namespace ddbg::analyzer {
namespace {

using test::BatchOf;
using test::SomeProcess;
using test::SomeRecord;
using test::WorldCommunicator;

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint32_t kWorld = 7;

proto::Process Named(int rank, const char* run_id, uint32_t attempt, int64_t later_s = 0) {
  proto::Process process = SomeProcess(rank);
  process.set_run_id(run_id);
  process.set_attempt_id(attempt);
  process.set_start_realtime_ns(process.start_realtime_ns() + later_s * kSecond);
  process.set_start_monotonic_ns(process.start_monotonic_ns() + later_s * kSecond);
  return process;
}

Record OnWorld(MpiCall call, int64_t start_s, uint32_t seq) {
  Record record = SomeRecord(call, start_s * kSecond, 1000);
  record.comm = kWorld;
  record.seq = seq;
  return record;
}

// A call of each second from `from_s` to `to_s`, a chunk each, with its time in the frame's header.
void WriteSteps(const std::string& path, const proto::Process& process, int64_t from_s, int64_t to_s,
                std::vector<Record> (*calls)(int rank, int64_t second)) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  proto::Chunk first;
  *first.add_packet()->mutable_process() = process;
  Result<TraceWriter> writer = TraceWriter::Create(path, first.SerializeAsString());
  ASSERT_TRUE(writer) << writer.error().text;
  uint64_t position = 0;
  for (int64_t second = from_s; second < to_s; ++second) {
    proto::Chunk chunk;
    std::vector<Record> records = calls(process.rank(), second);
    if (second == from_s) records.insert(records.begin(), OnWorld(MpiCall::Init, second, 0));
    for (size_t i = 0; i < records.size(); ++i)
      records[i].start = static_cast<uint64_t>(second * kSecond) + i * 10'000'000;
    *chunk.add_packet()->mutable_batch() = BatchOf(records, position);
    position += records.size();
    if (second == from_s) {
      proto::Definitions* definitions = chunk.add_packet()->mutable_definitions();
      *definitions->add_definition() = WorldCommunicator(kWorld, process.rank(), process.world_size());
      definitions->add_position(0);
    }
    ASSERT_TRUE(writer->Append(chunk.SerializeAsString(), second * kSecond, (second + 1) * kSecond));
  }
  proto::Chunk end;
  end.add_packet()->mutable_end()->set_how(proto::ProcessEnd::SIGNALED);
  end.mutable_packet(0)->mutable_end()->set_code(15);
  end.mutable_packet(0)->mutable_end()->set_t_ns(to_s * kSecond);
  ASSERT_TRUE(writer->Append(end.SerializeAsString(), 0, 0));
}

std::vector<Record> Barriers(int, int64_t second) {
  return {OnWorld(MpiCall::Barrier, second, static_cast<uint32_t>(second))};
}

// Rank 0 sends to rank 1, three messages a second; rank 1 receives them as they come, in the same second.
std::vector<Record> Messages(int rank, int64_t) {
  Record record = OnWorld(rank == 0 ? MpiCall::Send : MpiCall::Recv, 0, 0);
  record.peer = 1 - rank;
  record.tag = 3;
  return {record, record, record};
}

TEST(LoadWindow, KeepsTheEndAndAddsUpTheRest) {
  ScratchDir dir;
  for (int rank : {0, 1})
    WriteSteps(dir / ("rank-0000" + std::to_string(rank) + ".ddbg"), SomeProcess(rank), 10, 2110, Barriers);
  LoadOptions options;
  options.last_ns = 1500 * kSecond;
  analyzer::Run run = LoadRun({dir.path(), {dir / "rank-00000.ddbg", dir / "rank-00001.ddbg"}}, options);
  ASSERT_EQ(run.processes.size(), 2u);
  for (const Process& process : run.processes) {
    // MPI_Init stays for good; of the rest what ends in the time asked for.
    ASSERT_EQ(process.calls.size(), 1501u);
    EXPECT_EQ(process.calls[0].start_ns, 10 * kSecond);
    EXPECT_EQ(process.calls[1].seq, 610u);
    ASSERT_EQ(process.dropped.sums.size(), 1u);
    EXPECT_EQ(process.dropped.sums[0].calls, 600u);
    EXPECT_EQ(process.dropped.sums[0].last_seq, 609u);
    EXPECT_TRUE(process.dropped.by_choice);
    EXPECT_GT(process.dropped.until_ns, 609 * kSecond);
    EXPECT_EQ(process.comms.size(), 1u);
  }
}

TEST(LoadWindow, WhatAProcessDidLastIsKeptHoweverLongAgo) {
  ScratchDir dir;
  WriteSteps(dir / "rank-00000.ddbg", SomeProcess(0), 10, 2010, Barriers);
  WriteSteps(dir / "rank-00001.ddbg", SomeProcess(1), 10, 9010, Barriers);
  LoadOptions options;
  options.last_ns = 5 * kSecond;
  analyzer::Run run = LoadRun({dir.path(), {dir / "rank-00000.ddbg", dir / "rank-00001.ddbg"}}, options);
  for (const Process& process : run.processes) EXPECT_EQ(process.calls.size(), 1001u);
  EXPECT_EQ(run.processes[0].calls.back().seq, 2009u);
}

TEST(LoadWindow, WithoutOneEverythingIsThere) {
  ScratchDir dir;
  WriteSteps(dir / "rank-00000.ddbg", SomeProcess(0), 10, 110, Barriers);
  analyzer::Run run = LoadRun({dir.path(), {dir / "rank-00000.ddbg"}});
  ASSERT_EQ(run.processes.size(), 1u);
  EXPECT_EQ(run.processes[0].calls.size(), 101u);
  EXPECT_FALSE(run.processes[0].dropped.by_choice);
  EXPECT_TRUE(run.caveats.empty());
}

TEST(LoadWindow, MessagesBeforeItAreCountedSoThatLaterOnesMeet) {
  ScratchDir dir;
  for (int rank : {0, 1})
    WriteSteps(dir / ("rank-0000" + std::to_string(rank) + ".ddbg"), SomeProcess(rank), 10, 1010, Messages);
  LoadOptions options;
  options.last_ns = 400 * kSecond;
  analyzer::Run run = LoadRun({dir.path(), {dir / "rank-00000.ddbg", dir / "rank-00001.ddbg"}}, options);
  for (const Process& process : run.processes) {
    ASSERT_EQ(process.dropped.messages.size(), 1u);
    EXPECT_EQ(process.dropped.messages[0].times, 3u * 600);
    EXPECT_EQ(process.dropped.messages[0].peer, 1 - process.rank());
    EXPECT_FALSE(process.dropped.uncounted);
  }
  Diagnosis diagnosis = DiagnoseRun(run);
  for (const Finding& finding : diagnosis.findings) EXPECT_NE(finding.kind, "p2p_unmatched") << finding.summary;
}

// Rank 0 ends in a collective that rank 1 came to before the window began and has left since.
std::vector<Record> OneAhead(int rank, int64_t second) {
  if (rank == 1 && second >= 20) return {SomeRecord(MpiCall::Comm_set_name, 0, 10)};
  return {OnWorld(MpiCall::Barrier, second, static_cast<uint32_t>(second))};
}

TEST(LoadWindow, WhoCameBeforeItIsNotMissing) {
  ScratchDir dir;
  WriteSteps(dir / "rank-00000.ddbg", SomeProcess(0), 10, 20, OneAhead);
  WriteSteps(dir / "rank-00001.ddbg", SomeProcess(1), 10, 1510, OneAhead);
  LoadOptions options;
  options.last_ns = 5 * kSecond;
  analyzer::Run run = LoadRun({dir.path(), {dir / "rank-00000.ddbg", dir / "rank-00001.ddbg"}}, options);
  Matching matching = MatchCollectives(run);
  ASSERT_EQ(matching.groups.size(), 1u);
  for (const Member& member : matching.groups[0].members) EXPECT_EQ(member.calls.size(), 20u);
  EXPECT_EQ(matching.groups[0].members[1].At(19), kNoIndex);
}

TEST(LoadWindow, BoundOfMemoryIsKeptAndSaid) {
  ScratchDir dir;
  WriteSteps(dir / "rank-00000.ddbg", SomeProcess(0), 10, 5010, Barriers);
  LoadOptions options;
  options.memory_bytes = 2000 * 160;
  analyzer::Run run = LoadRun({dir.path(), {dir / "rank-00000.ddbg"}}, options);
  EXPECT_LT(run.processes[0].calls.size(), 2800u);
  EXPECT_GT(run.processes[0].calls.size(), 1200u);
  ASSERT_EQ(run.caveats.size(), 1u);
  EXPECT_NE(run.caveats[0].find("--memory"), std::string::npos);
}

TEST(LoadWindow, DoesNotDependOnTheNumberOfThreads) {
  ScratchDir dir;
  std::vector<std::string> files;
  for (int rank = 0; rank < 20; ++rank) {
    files.push_back(dir / ("rank-000" + std::to_string(10 + rank) + ".ddbg"));
    WriteSteps(files.back(), SomeProcess(rank, 20), 10, 15 + rank, Barriers);
  }
  LoadOptions one, many;
  one.threads = 1;
  many.threads = 7;
  analyzer::Run a = LoadRun({dir.path(), files}, one), b = LoadRun({dir.path(), files}, many);
  ASSERT_EQ(a.processes.size(), 20u);
  for (size_t i = 0; i < a.processes.size(); ++i) {
    EXPECT_EQ(a.processes[i].pid, b.processes[i].pid);
    EXPECT_EQ(a.processes[i].calls.size(), b.processes[i].calls.size());
  }
}

TEST(LoadAttempts, NewestIsLoadedAndTheOthersAreNamed) {
  ScratchDir dir;
  std::vector<std::string> files;
  for (uint32_t attempt : {0u, 1u})
    for (int rank : {0, 1}) {
      files.push_back(dir / ("a" + std::to_string(attempt) + "/rank-0000" + std::to_string(rank) + ".ddbg"));
      WriteSteps(files.back(), Named(rank, "run-1", attempt, attempt * 100), 10 + attempt * 100, 20 + attempt * 100,
                 Barriers);
    }
  analyzer::Run run = LoadRun({dir.path(), files});
  ASSERT_EQ(run.processes.size(), 2u);
  EXPECT_EQ(run.attempt_id, 1u);
  ASSERT_EQ(run.caveats.size(), 1u);
  EXPECT_NE(run.caveats[0].find("run run-1, attempt 0 (2 processes) is left out"), std::string::npos) << run.caveats[0];
}

TEST(LoadAttempts, OfTwoRunsTheOneThatStartedLast) {
  ScratchDir dir;
  std::vector<std::string> files = {dir / "x/rank-00000.ddbg", dir / "y/rank-00000.ddbg"};
  WriteSteps(files[0], Named(0, "later", 0, 50), 60, 70, Barriers);
  WriteSteps(files[1], Named(0, "earlier", 0), 10, 20, Barriers);
  analyzer::Run run = LoadRun({dir.path(), files});
  ASSERT_EQ(run.processes.size(), 1u);
  EXPECT_EQ(run.run_id, "later");
  EXPECT_EQ(run.caveats.size(), 1u);
}

TEST(LoadAttempts, NodesWithoutACommonNameAreOneRun) {
  ScratchDir dir;
  std::vector<std::string> files = {dir / "x/rank-00000.ddbg", dir / "y/rank-00001.ddbg"};
  proto::Process other = Named(1, "node-b-77", 0);
  other.set_host("node-b");
  WriteSteps(files[0], Named(0, "node-a-66", 0), 10, 20, Barriers);
  WriteSteps(files[1], other, 10, 20, Barriers);
  analyzer::Run run = LoadRun({dir.path(), files});
  EXPECT_EQ(run.processes.size(), 2u);
  EXPECT_EQ(run.caveats.size(), 1u);
}

TEST(LoadAttempts, CopyOfAProcessCountsOnce) {
  ScratchDir dir;
  std::vector<std::string> files = {dir / "copy.ddbg", dir / "rank-00000.ddbg", dir / "rank-00001.ddbg"};
  for (int rank : {0, 1}) WriteSteps(files[rank + 1], SomeProcess(rank), 10, 20, Barriers);
  std::filesystem::copy_file(files[1], files[0]);
  analyzer::Run run = LoadRun({dir.path(), files});
  EXPECT_EQ(run.processes.size(), 2u);
  ASSERT_EQ(run.caveats.size(), 1u);
  EXPECT_NE(run.caveats[0].find("copy"), std::string::npos);
  for (const Finding& finding : DiagnoseRun(run).findings) EXPECT_NE(finding.kind, "duplicate_rank");
}

TEST(LoadAttempts, DirectoryAndFifoAmongTheFilesAreNamed) {
  ScratchDir dir;
  WriteSteps(dir / "rank-00000.ddbg", SomeProcess(0, 1), 10, 20, Barriers);
  std::filesystem::create_directory(dir / "rank-00001.ddbg");
  ASSERT_EQ(mkfifo((dir / "rank-00002.ddbg").c_str(), 0600), 0);
  analyzer::Run run =
      LoadRun({dir.path(), {dir / "rank-00000.ddbg", dir / "rank-00001.ddbg", dir / "rank-00002.ddbg"}});
  EXPECT_EQ(run.processes.size(), 1u);
  EXPECT_EQ(run.unreadable.size(), 2u);
  EXPECT_NE(DiagnoseRun(run).verdict, Diagnosis::kHealthy);
}

}  // namespace
}  // namespace ddbg::analyzer
