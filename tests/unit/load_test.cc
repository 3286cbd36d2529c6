#include "analyzer/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "analyzer/process_loader.h"
#include "proto/clock_ticks.h"
#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/trace_file.h"

namespace ddbg::analyzer {
namespace {

using test::BatchOf;
using test::SomeProcess;
using test::SomeRecord;
using test::TraceFile;
using test::WorldCommunicator;

Record Allreduce(uint32_t seq, int64_t start_ns, int64_t duration_ns = 10) {
  Record record = SomeRecord(MpiCall::Allreduce, start_ns, duration_ns);
  record.comm = 1;
  record.seq = seq;
  record.count = 100 + seq;
  record.dtype = 2;
  record.op = kOpSum;
  record.stack = 3;
  return record;
}

proto::OpenCall OpenAllreduce(uint32_t seq, int64_t start_ns, int64_t seen_ns, uint32_t thread = 0, uint32_t tid = 77) {
  proto::OpenCall open_call;
  open_call.set_thread(thread);
  open_call.set_tid(tid);
  proto::Call* half = open_call.add_half();
  half->set_call(CallId(MpiCall::Allreduce));
  half->set_start_ns(start_ns);
  half->set_comm(1);
  half->set_seq(seq);
  half->set_peer(kNoPeer);
  open_call.set_seen_ns(seen_ns);
  return open_call;
}

std::vector<int64_t> Starts(const Process& process) {
  std::vector<int64_t> starts;
  for (const Call& call : process.calls) starts.push_back(call.start_ns);
  return starts;
}

proto::Definition SomeStack(uint32_t id, const std::vector<int64_t>& deltas) {
  proto::Definition definition;
  definition.mutable_stack()->set_id(id);
  for (int64_t delta : deltas) definition.mutable_stack()->add_frame(delta);
  return definition;
}

proto::Definition SomeDatatype(uint32_t id) {
  proto::Definition definition;
  definition.mutable_datatype()->set_id(id);
  definition.mutable_datatype()->set_name("MPI_DOUBLE");
  definition.mutable_datatype()->set_size(8);
  return definition;
}

TEST(Load, ReadsWhatWasWritten) {
  ScratchDir dir;
  TraceFile file(dir / "rank-00000.ddbg", SomeProcess(0));
  Record first = Allreduce(0, 1000, 50), second = Allreduce(1, 2000, 70);
  second.peer = 3;
  second.tag = -7;
  second.result = 15;
  second.aux = 0xfedcba9876543210;
  second.flags = kFlagInPlace;
  file.Add(BatchOf({first, second}, 0, 9));
  file.Add({WorldCommunicator(1, 0, 2), SomeDatatype(2), SomeStack(3, {0x5000, -0x10})}, {0, 3, 5});
  file.AddEnd(proto::ProcessEnd::EXITED, 3, 9000);
  ASSERT_TRUE(file.Finish());

  auto run = LoadRun({dir.path(), {dir / "rank-00000.ddbg"}});

  EXPECT_TRUE(run.unreadable.empty());
  EXPECT_FALSE(run.live);
  EXPECT_EQ(run.run_id, "run-1");
  ASSERT_EQ(run.processes.size(), 1u);
  const Process& p = run.processes[0];
  EXPECT_TRUE(p.damage.empty()) << p.damage[0];
  EXPECT_EQ(p.rank(), 0);
  EXPECT_EQ(p.pid, 1000);
  ASSERT_EQ(p.calls.size(), 2u);
  const Call& call = p.calls[1];
  EXPECT_EQ(call.start_ns, 2000);
  EXPECT_EQ(call.duration_ns, 70);
  EXPECT_EQ(call.count, 101u);
  EXPECT_EQ(call.aux, 0xfedcba9876543210);
  EXPECT_EQ(call.seq, 1u);
  EXPECT_EQ(call.peer, 3);
  EXPECT_EQ(call.tag, -7);
  EXPECT_EQ(call.result, 15);
  EXPECT_EQ(call.op, kOpSum);
  EXPECT_EQ(call.flags, kFlagInPlace);
  EXPECT_EQ(call.stack, 3u);
  EXPECT_EQ(call.info().name, "MPI_Allreduce");
  EXPECT_EQ(p.comms.at(1).members, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(p.dtypes.at(2).size, 8u);
  EXPECT_EQ(p.stacks_by_id.at(3), (std::vector<uint64_t>{0x5000, 0x4ff0}));
  EXPECT_EQ(p.tid_by_thread.at(0), 77u);
  EXPECT_EQ(p.end.how, ProcessEnd::kExited);
  EXPECT_EQ(p.end.code, 3);
  EXPECT_EQ(p.last_seen_ns, 9000);
}

TEST(Load, OrdersProcessesByRankAndCallsByStart) {
  ScratchDir dir;
  for (int rank : {1, 0}) {
    TraceFile file(dir / ("rank-0000" + std::to_string(rank) + ".ddbg"), SomeProcess(rank));
    file.Add(BatchOf({Allreduce(1, 3000)}, 0));
    file.Add(BatchOf({SomeRecord(MpiCall::Send, 2000, 5), SomeRecord(MpiCall::Recv, 4000, 5)}, 0, 0, 0, kBulkLane));
    ASSERT_TRUE(file.Finish());
  }
  auto run = LoadRun({dir.path(), {dir / "rank-00000.ddbg", dir / "rank-00001.ddbg"}});
  ASSERT_EQ(run.processes.size(), 2u);
  EXPECT_EQ(run.processes[0].rank(), 0);
  EXPECT_EQ(run.processes[1].rank(), 1);
  EXPECT_EQ(Starts(run.processes[0]), (std::vector<int64_t>{2000, 3000, 4000}));
}

TEST(Load, KeepsSecondHalfBehindFirst) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  Record send = SomeRecord(MpiCall::Sendrecv, 1000, 5), receive = send;
  send.peer = 1;
  receive.peer = 2;
  receive.flags = kFlagSecondHalf;
  // Another thread does the same at the same instant.
  file.Add(BatchOf({send, receive}, 0, 0, 0, kBulkLane, 77)).Add(BatchOf({send, receive}, 0, 0, 1, kBulkLane, 78));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_TRUE(process.ok());
  ASSERT_EQ(process->calls.size(), 4u);
  for (size_t i = 0; i < 4; i += 2) {
    EXPECT_EQ(process->calls[i].thread, process->calls[i + 1].thread);
    EXPECT_FALSE(process->calls[i].flags & kFlagSecondHalf);
    EXPECT_TRUE(process->calls[i + 1].flags & kFlagSecondHalf);
  }
}

TEST(Load, DropsBatchReadBefore) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  proto::Batch batch = BatchOf({Allreduce(0, 1000), Allreduce(1, 2000)}, 0);
  file.Add(batch).Cut().Add(batch);
  ASSERT_TRUE(file.Finish());
  EXPECT_EQ(Starts(*LoadProcess(dir / "r.ddbg")), (std::vector<int64_t>{1000, 2000}));
}

TEST(Load, DropsTheRepeatedPartOfABatchWithDefinitionsInIt) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  // Cells: 0 record, 1..2 a definition of up to 64 bytes, 3 record, 4..5 definition, 6 record.
  proto::Definition type = SomeDatatype(2);
  file.Add(BatchOf({Allreduce(0, 1000), Allreduce(1, 2000)}, 0, 4)).Add({type}, {1}).Cut();
  file.Add(BatchOf({Allreduce(0, 1000), Allreduce(1, 2000), Allreduce(2, 3000)}, 0, 7)).Add({type, type}, {1, 4});
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(Starts(*process), (std::vector<int64_t>{1000, 2000, 3000}));
  EXPECT_TRUE(process->damage.empty()) << process->damage[0];
}

TEST(Load, SamePositionsOfOtherLanesAndThreadsAreNoRepetition) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000)}, 0, 0, 0, kVitalLane, 77));
  file.Add(BatchOf({Allreduce(0, 2000)}, 0, 0, 0, kBulkLane, 77));
  file.Add(BatchOf({Allreduce(0, 3000)}, 0, 0, 1, kVitalLane, 78));
  ASSERT_TRUE(file.Finish());
  EXPECT_EQ(LoadProcess(dir / "r.ddbg")->calls.size(), 3u);
}

TEST(Load, TellsAGapInTheMiddle) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000)}, 0)).Add(BatchOf({Allreduce(5, 6000)}, 5));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->damage.size(), 1u);
  EXPECT_NE(process->damage[0].find("up to 4 records"), std::string::npos) << process->damage[0];
}

TEST(Load, LastOpenCallStaysOpen) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000, 900)}, 0));
  *file.Add()->mutable_open_call() = OpenAllreduce(1, 2000, 5000);
  *file.Add()->mutable_open_call() = OpenAllreduce(1, 2000, 9000);
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 2u);
  EXPECT_TRUE(process->calls[1].open());
  EXPECT_EQ(process->calls[1].seq, 1u);
  EXPECT_EQ(process->last_seen_ns, 9000);
}

TEST(Load, RecordEndsItsOpenCall) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  *file.Add()->mutable_open_call() = OpenAllreduce(0, 2000, 5000);
  file.Add(BatchOf({Allreduce(0, 2000, 4000)}, 0));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 1u);
  EXPECT_EQ(process->calls[0].duration_ns, 4000);
}

TEST(Load, RecordEndsItsOpenCallAlsoIfTheClockWasCalibratedBetween) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  *file.Add()->mutable_open_call() = OpenAllreduce(0, 2'000'000, 2'000'000'000);
  file.Add(BatchOf({Allreduce(0, 1'999'000, 3'000'000'000)}, 0));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 1u);
  EXPECT_FALSE(process->calls[0].open());
}

TEST(Load, CallBeforeDoesNotEndAnOpenCallThatBeganRightAfterIt) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000, 100)}, 0));
  *file.Add()->mutable_open_call() = OpenAllreduce(1, 1101, 1110);  // seen at the process's end, at once
  ASSERT_TRUE(file.Finish());
  EXPECT_EQ(LoadProcess(dir / "r.ddbg")->calls.size(), 2u);
}

TEST(Load, LaterCallOfTheThreadEndsAnOpenCallWhoseRecordWasLost) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  *file.Add()->mutable_open_call() = OpenAllreduce(0, 2000, 5000);
  file.Add(BatchOf({Allreduce(1, 7000)}, 0));
  *file.Add()->mutable_open_call() = OpenAllreduce(9, 2000, 5000, 1, 78);  // another thread's stays
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 2u);
  EXPECT_TRUE(process->calls[0].open());
  EXPECT_EQ(process->calls[0].seq, 9u);
}

TEST(Load, KeepsWhatAnOpenWaitIsWaitingFor) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000)}, 0));
  proto::OpenCall wait = OpenAllreduce(0, 3000, 5000);
  wait.mutable_half(0)->set_call(CallId(MpiCall::Waitall));
  wait.add_request(41);
  wait.add_request(42);
  wait.set_request_count(12);
  *file.Add()->mutable_open_call() = wait;
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->open_detail.count(1), 1u);
  EXPECT_EQ(process->open_detail[1].requests, (std::vector<uint64_t>{41, 42}));
  EXPECT_EQ(process->open_detail[1].request_count, 12u);
}

TEST(Load, KeepsBothHalvesOfAnOpenSendrecv) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  proto::OpenCall open_call = OpenAllreduce(0, 3000, 5000);
  open_call.mutable_half(0)->set_call(CallId(MpiCall::Sendrecv));
  proto::Call second = open_call.half(0);
  second.set_flags(kFlagSecondHalf);
  *open_call.add_half() = second;
  *file.Add()->mutable_open_call() = open_call;
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 2u);
  EXPECT_TRUE(process->calls[1].open());
  EXPECT_EQ(process->calls[1].flags, kFlagSecondHalf);
}

TEST(Load, LastSnapshotOfARowOfPollsCounts) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  std::vector<Record> records;
  for (uint64_t polls : {1, 2, 4, 5}) {
    Record poll = SomeRecord(MpiCall::Test, 1000, static_cast<int64_t>(polls * 10));
    poll.count = polls;
    poll.flags = kFlagNothingDone;
    records.push_back(poll);
  }
  records.push_back(SomeRecord(MpiCall::Test, 1100, 5));
  file.Add(BatchOf(records, 0, 0, 0, kBulkLane));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 2u);
  EXPECT_EQ(process->calls[0].count, 5u);
  EXPECT_EQ(process->calls[0].duration_ns, 50);
}

TEST(Load, MapsCallsByNameNotByNumber) {
  ScratchDir dir;
  proto::Process identity = SomeProcess(0);
  identity.clear_call_name();
  identity.add_call_name("MPI_Allreduce");
  identity.add_call_name("MPI_Of_the_future");
  TraceFile file(dir / "r.ddbg", identity);
  Record known = Allreduce(0, 1000), foreign = Allreduce(1, 2000), beyond = Allreduce(2, 3000);
  known.call = kFirstCall;
  foreign.call = kFirstCall + 1;
  beyond.call = kFirstCall + 2;
  file.Add(BatchOf({known, foreign, beyond}, 0));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 3u);
  EXPECT_EQ(process->calls[0].call, CallId(MpiCall::Allreduce));
  EXPECT_FALSE(process->calls[1].known());
  EXPECT_EQ(process->call_names.at(process->calls[1].aux), "MPI_Of_the_future");
  EXPECT_FALSE(process->calls[2].known());
  EXPECT_GE(process->calls[2].aux, process->call_names.size());
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

TEST(Load, NameAndFreeOfACommunicatorSurviveARepeatedDefinition) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  proto::Definition split = WorldCommunicator(5, 0, 2), named, freed;
  split.mutable_communicator()->set_kind("split");
  split.mutable_communicator()->clear_name();
  named.mutable_communicator()->set_id(5);
  named.mutable_communicator()->set_name("rows");
  freed.mutable_communicator_freed()->set_id(5);
  file.Add({split, named, freed, split}, {0, 3, 5, 7});
  ASSERT_TRUE(file.Finish());
  Communicator comm = LoadProcess(dir / "r.ddbg")->comms.at(5);
  EXPECT_EQ(comm.kind, "split");
  EXPECT_EQ(comm.name, "rows");
  EXPECT_EQ(comm.size, 2u);
  EXPECT_TRUE(comm.freed);
}

TEST(Load, MembersAreExpandedFromRuns) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  proto::Definition comm = WorldCommunicator(1, 0, 5);
  comm.mutable_communicator()->clear_members();
  for (int32_t number : {1, 3, 2, /* 1 3 5 */ -5, 1, 0, /* 0 */ 9, 1, 0 /* 9 */}) {
    comm.mutable_communicator()->add_members(number);
  }
  proto::Definition huge = WorldCommunicator(2, 0, 2);
  huge.mutable_communicator()->set_members(1, INT32_MAX);
  file.Add({comm, huge}, {0, 3});
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  EXPECT_EQ(process->comms.at(1).members, (std::vector<int32_t>{1, 3, 5, 0, 9}));
  EXPECT_TRUE(process->comms.at(2).members.empty());
}

TEST(Load, WorldCorrectsTheLaunchersRank) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(-1, -1));
  proto::Definition world;
  world.mutable_world()->set_rank(3);
  world.mutable_world()->set_size(4);
  file.Add({world}, {0});
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  EXPECT_EQ(process->rank(), 3);
  EXPECT_EQ(process->world_size(), 4);
  EXPECT_EQ(process->launcher_rank, -1);
}

TEST(Load, ThreadThatTakesOverASlotIsAnotherThread) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  file.Add(BatchOf({Allreduce(0, 1000)}, 0, 0, 0, kVitalLane, 77));
  file.Add(BatchOf({Allreduce(1, 2000)}, 1, 0, 0, kVitalLane, 99));
  file.Add(BatchOf({Allreduce(2, 3000)}, 2, 0, 0, kVitalLane, 0));  // drained after its end
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_EQ(process->calls.size(), 3u);
  EXPECT_EQ(process->calls[0].thread, 0u);
  EXPECT_EQ(process->calls[1].thread, kMaxThreads);
  EXPECT_EQ(process->calls[2].thread, kMaxThreads);
  EXPECT_EQ(process->tid_by_thread.at(kMaxThreads), 99u);
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

TEST(Load, TextNeedNotBeUtf8) {
  ScratchDir dir;
  proto::Process identity = SomeProcess(0);
  identity.add_argv("caf\xe9");
  TraceFile file(dir / "r.ddbg", identity);
  file.Add(BatchOf({Allreduce(0, 1000)}, 0));
  ASSERT_TRUE(file.Finish());
  Result<Process> process = LoadProcess(dir / "r.ddbg");
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->argv.back(), "caf\xe9");
  EXPECT_TRUE(process->calls.at(0).known());
}

TEST(Load, OwnProcessWithoutEndIsLive) {
  ScratchDir dir;
  proto::Process identity = SomeProcess(0);
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  identity.set_host(host);
  std::ifstream boot_id("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(boot_id, text);
  identity.set_boot_id(text);
  identity.set_pid(getpid());
  identity.set_start_monotonic_ns(MonotonicNs());
  ASSERT_TRUE(TraceFile(dir / "r.ddbg", identity).Finish());
  EXPECT_TRUE(LoadRun({dir.path(), {dir / "r.ddbg"}}).live);

  // A pid that was given again: the process under it is younger than the trace.
  identity.set_start_monotonic_ns(1);
  ASSERT_TRUE(TraceFile(dir / "s.ddbg", identity).Finish());
  auto run = LoadRun({dir.path(), {dir / "s.ddbg"}});
  EXPECT_FALSE(run.live);
  EXPECT_EQ(run.processes.at(0).end.how, ProcessEnd::kGone);
}

TEST(Load, ProcessOfAnotherHostIsLiveWhileItsFileIsFresh) {
  ScratchDir dir;
  ASSERT_TRUE(TraceFile(dir / "r.ddbg", SomeProcess(0)).Finish());
  EXPECT_TRUE(LoadRun({dir.path(), {dir / "r.ddbg"}}).live);
  std::filesystem::last_write_time(dir / "r.ddbg",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_FALSE(LoadRun({dir.path(), {dir / "r.ddbg"}}).live);
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
