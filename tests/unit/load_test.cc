// What a trace file says, as the analyzer's model has it.
#include "analyzer/load/load.h"

#include <gtest/gtest.h>

#include "tests/unit/made_trace.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg::analyzer {
namespace {

using test::Allreduce;
using test::BatchOf;
using test::SomeDatatype;
using test::SomeProcess;
using test::SomeRecord;
using test::SomeStack;
using test::TraceFile;
using test::WorldCommunicator;

std::vector<int64_t> Starts(const Process& process) {
  std::vector<int64_t> starts;
  for (const Call& call : process.calls) starts.push_back(call.start_ns);
  return starts;
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

TEST(Load, RanksThatACallNamesAreKeptWithoutAUid) {
  ScratchDir dir;
  TraceFile file(dir / "r.ddbg", SomeProcess(0));
  proto::Definition group = WorldCommunicator(4, -1, 2);
  group.mutable_communicator()->set_kind("group");
  group.mutable_communicator()->set_uid(0);
  file.Add({group}, {0, 3});
  ASSERT_TRUE(file.Finish());
  Communicator comm = LoadProcess(dir / "r.ddbg")->comms.at(4);
  EXPECT_EQ(comm.kind, "group");
  EXPECT_EQ(comm.members, (std::vector<int32_t>{0, 1}));
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

}  // namespace
}  // namespace ddbg::analyzer
