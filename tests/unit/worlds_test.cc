// Spawned worlds in one run, where the launcher numbers them and where it does not.
#include "analyzer/load/worlds.h"

#include <gtest/gtest.h>

#include "analyzer/match/match.h"
#include "analyzer/match/messages.h"
#include "proto/call.h"

namespace ddbg::analyzer {
namespace {

constexpr uint32_t kWorld = 1, kInter = 2, kMerged = 3;

Communicator Comm(uint32_t id, uint64_t uid, const char* kind, uint32_t size, int32_t rank) {
  Communicator comm;
  comm.id = id, comm.uid = uid, comm.kind = kind, comm.size = size, comm.rank = rank;
  return comm;
}

// With what it and `remote` others have together: an inter-communicator, and one merged from it.
Process Rank(int32_t rank, int32_t size, const char* kind, uint64_t uid, uint32_t remote, bool first) {
  Process process;
  process.mpi_rank = process.launcher_rank = rank;
  process.mpi_size = process.launcher_world_size = size;
  Communicator world = Comm(kWorld, 10, "world", static_cast<uint32_t>(size), rank);
  world.name = "MPI_COMM_WORLD";
  Communicator inter = Comm(kInter, uid, kind, static_cast<uint32_t>(size), rank);
  inter.remote_size = remote, inter.parent = kWorld, inter.parent_uid = 10;
  int32_t merged_rank = first ? rank : static_cast<int32_t>(remote) + rank;
  Communicator merged = Comm(kMerged, uid + 1, "merge", static_cast<uint32_t>(size) + remote, merged_rank);
  merged.parent = kInter, merged.parent_uid = uid, merged.color = first ? 0 : 1;
  merged.members.assign(merged.size, -1);
  for (int32_t i = 0; i < size; ++i) {
    world.members.push_back(i), inter.members.push_back(i);
    merged.members[static_cast<size_t>(first ? i : static_cast<int32_t>(remote) + i)] = i;
  }
  for (const Communicator& comm : {world, inter, merged}) process.comms[comm.id] = comm;
  return process;
}

Process Parent(int32_t rank) {
  Process process = Rank(rank, 2, "spawn", 20, 3, true);
  Call spawn;
  spawn.call = CallId(MpiCall::Comm_spawn), spawn.comm = kWorld, spawn.peer = 0, spawn.aux = kInter;
  process.calls.push_back(spawn);
  return process;
}

Process Child(int32_t rank, int32_t world, int64_t started_ns) {
  Process process = Rank(rank, 3, "parent", 30, 2, false);
  process.spawned = true;
  process.world = world;
  if (world > 0) process.parent_world = process.parent_rank = 0;
  process.start_realtime_ns = started_ns;
  return process;
}

analyzer::Run ParentsAndChildren(int32_t world) {
  analyzer::Run run;
  for (int32_t rank : {0, 1}) run.processes.push_back(Parent(rank));
  for (int32_t rank : {2, 0, 1}) run.processes.push_back(Child(rank, world, 100 + rank));
  return run;
}

class SpawnedWorldsOf : public testing::TestWithParam<int32_t> {};

TEST_P(SpawnedWorldsOf, ARunAreCountedOn) {
  analyzer::Run run = ParentsAndChildren(GetParam());
  JoinWorlds(&run);
  ASSERT_EQ(run.spawned.size(), 1u);
  EXPECT_EQ(run.spawned[0].first, 2);
  EXPECT_EQ(run.spawned[0].size, 3);
  EXPECT_EQ(run.spawned[0].root, 0);
  std::vector<int32_t> ranks;
  for (const Process& process : run.processes) {
    ranks.push_back(process.rank());
    EXPECT_EQ(process.world_size(), 5);
  }
  EXPECT_EQ(ranks, (std::vector<int32_t>{0, 1, 4, 2, 3}));

  const Process &parent = run.processes[1], &child = run.processes[2];
  EXPECT_NE(parent.comms.at(kWorld).uid, child.comms.at(kWorld).uid);
  EXPECT_EQ(child.comms.at(kWorld).members, (std::vector<int32_t>{2, 3, 4}));
  for (uint32_t comm : {kInter, kMerged}) {
    EXPECT_EQ(parent.comms.at(comm).uid, child.comms.at(comm).uid);
    EXPECT_EQ(parent.comms.at(comm).members, (std::vector<int32_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(child.comms.at(comm).members, (std::vector<int32_t>{0, 1, 2, 3, 4}));
  }
  EXPECT_EQ(WorldRank(parent.comms.at(kInter), PeerIn(parent.comms.at(kInter), 2)), 4);
  EXPECT_EQ(WorldRank(child.comms.at(kInter), PeerIn(child.comms.at(kInter), 1)), 1);
  EXPECT_EQ(PeerIn(child.comms.at(kInter), kAnySource), kAnySource);
  EXPECT_EQ(child.comms.at(kInter).rank, 4);
}

INSTANTIATE_TEST_SUITE_P(All, SpawnedWorldsOf, testing::Values(1, -1));

TEST(SpawnedWorlds, AreAsTheyWereForWhoReadsOn) {
  analyzer::Run run = ParentsAndChildren(-1), before = run;
  for (int times = 0; times < 2; ++times) {
    JoinWorlds(&run);
    PartWorlds(&run);
    for (size_t i = 0; i < run.processes.size(); ++i) {
      EXPECT_EQ(run.processes[i].rank(), before.processes[i].rank());
      EXPECT_EQ(run.processes[i].world, before.processes[i].world);
      EXPECT_EQ(run.processes[i].world_size(), before.processes[i].world_size());
      for (const auto& [id, comm] : before.processes[i].comms) {
        EXPECT_EQ(run.processes[i].comms.at(id).uid, comm.uid);
        EXPECT_EQ(run.processes[i].comms.at(id).members, comm.members);
        EXPECT_EQ(run.processes[i].comms.at(id).rank, comm.rank);
      }
    }
  }
}

// Two spawns of three each, told apart by a rank that comes again.
TEST(SpawnedWorlds, WithoutANumberAreThoseStartedTogether) {
  analyzer::Run run = ParentsAndChildren(-1);
  for (int32_t rank : {1, 2, 0}) run.processes.push_back(Child(rank, -1, 500 + rank));
  JoinWorlds(&run);
  ASSERT_EQ(run.spawned.size(), 2u);
  EXPECT_EQ(run.spawned[1].first, 5);
  EXPECT_EQ(run.processes.back().rank(), 5);
  // One call is there for two worlds: which of them it made is not known, and nothing is taken for the same.
  EXPECT_EQ(run.spawned[0].root, -1);
  EXPECT_NE(run.processes[0].comms.at(kInter).uid, run.processes.back().comms.at(kInter).uid);
}

TEST(SpawnedWorlds, AreNotMadeOfOneWorld) {
  analyzer::Run run;
  for (int32_t rank : {0, 1}) run.processes.push_back(Parent(rank));
  JoinWorlds(&run);
  EXPECT_TRUE(run.spawned.empty());
  EXPECT_EQ(run.processes[1].rank(), 1);
  EXPECT_EQ(run.processes[1].world_size(), 2);
  EXPECT_EQ(run.processes[1].comms.at(kInter).peer_base, -1);
  EXPECT_EQ(PeerIn(run.processes[1].comms.at(kInter), 0), kNoPeer);
}

}  // namespace
}  // namespace ddbg::analyzer
