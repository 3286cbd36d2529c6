// Programs with the double under libddbg.so: what lands in the trace, and what another plugin is told.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "proto/ddbg.pb.h"
#include "proto/ring_layout.h"
#include "shim/nccl/plugin/abi.h"
#include "tests/unit/collector_process.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/trace_file.h"

namespace ddbg {
namespace {

namespace fs = std::filesystem;
using namespace shim::nccl::plugin;

struct Row {
  std::string call;
  int64_t start = 0;
  uint64_t duration = 0, count = 0, aux = 0;
  uint32_t comm = 0, dtype = 0, flags = 0;
  int32_t seq = 0, peer = 0, tag = 0;
};

struct Trace {
  std::vector<std::string> names;
  std::vector<Row> rows;
  std::map<uint32_t, proto::NcclPlan> plans;
  std::map<uint32_t, proto::Communicator> comms;
  std::map<uint32_t, std::string> types;
  std::map<std::string, proto::Level> levels;

  std::vector<Row> Of(const std::string& call) const {
    std::vector<Row> found;
    for (const Row& row : rows)
      if (row.call == call) found.push_back(row);
    std::sort(found.begin(), found.end(), [](const Row& a, const Row& b) { return a.start < b.start; });
    return found;
  }
};

template <class Column>
auto At(const Column& column, int i) {
  return i < column.size() ? column.Get(i) : typename std::remove_cvref_t<decltype(column.Get(0))>{};
}

void AddBatch(const proto::Batch& b, Trace* trace) {
  int64_t start = b.t_min_ns(), aux = 0;
  int32_t seq = 0;
  for (int i = 0; i < static_cast<int>(b.records()); ++i) {
    Row row;
    uint32_t call = At(b.call(), i);
    row.start = start += At(b.start(), i);
    seq += At(b.seq(), i);
    aux += At(b.aux(), i);
    row.call = call == kCallCompletion ? "completion"
               : call >= kFirstCall    ? trace->names.at(call - kFirstCall)
                                       : std::to_string(call);
    row.seq = seq;
    row.aux = static_cast<uint64_t>(aux);
    row.duration = At(b.duration(), i);
    row.count = At(b.count(), i);
    row.comm = At(b.comm(), i);
    row.dtype = At(b.dtype(), i);
    row.flags = At(b.flags(), i);
    row.peer = At(b.peer(), i);
    row.tag = At(b.tag(), i);
    trace->rows.push_back(row);
  }
}

void AddDefinition(const proto::Definition& d, Trace* trace) {
  if (d.has_nccl_plan()) trace->plans[d.nccl_plan().id()] = d.nccl_plan();
  if (d.has_communicator()) trace->comms[d.communicator().id()].MergeFrom(d.communicator());
  if (d.has_datatype()) trace->types[d.datatype().id()] = d.datatype().name();
  if (d.has_level()) trace->levels[d.level().name()] = d.level();
}

Trace ReadAll(const std::string& dir) {
  Trace trace;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    std::string name = entry.path().filename();
    if (entry.path().extension() != ".ddbg" || name.starts_with("node-")) continue;
    for (const ReadTrace::Chunk& bytes : ReadFile(entry.path()).chunks) {
      proto::Chunk chunk;
      EXPECT_TRUE(chunk.ParseFromString(bytes.bytes));
      for (const proto::Packet& packet : chunk.packet()) {
        if (packet.has_process() && trace.names.empty())
          trace.names.assign(packet.process().call_name().begin(), packet.process().call_name().end());
        if (packet.has_batch()) AddBatch(packet.batch(), &trace);
        for (const proto::Definition& d : packet.definitions().definition()) AddDefinition(d, &trace);
      }
    }
  }
  return trace;
}

struct Done {
  int status = -1;
  std::string out;
  bool Says(const std::string& text) const { return out.find(text) != std::string::npos; }
};

class Plugin : public testing::Test {
 protected:
  using Environment = std::map<std::string, std::string>;

  // A job of one process. `preload`: with libddbg.so.
  Done Run(std::vector<std::string> words, Environment more, bool preload = true) {
    std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "DDBG_DIR=" + dir(), "DDBG_SOCKET=" + socket()};
    if (preload) environment.push_back("LD_PRELOAD=" DDBG_LIBRARY_PATH);
    for (const auto& [name, value] : more) environment.push_back(name + "=" + value);
    std::vector<char*> argv, envp;
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& entry : environment) envp.push_back(entry.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    std::string out = scratch_.path() + "/out";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t pid = 0;
    Done done;
    if (posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), envp.data()) != 0) return done;
    posix_spawn_file_actions_destroy(&actions);
    waitpid(pid, &done.status, 0);
    done.out = ReadBytes(out);
    return done;
  }

  Done RunDriver(Environment more, std::vector<std::string> arguments = {"plain"}, bool preload = true,
                 const char* driver = DRIVER) {
    arguments.insert(arguments.begin(), driver);
    return Run(arguments, std::move(more), preload);
  }

  // What was recorded, when all of it is in the files.
  Trace Recorded() {
    collector_.reset();
    return ReadAll(dir());
  }

  void StartCollector() {
    collector_ = std::make_unique<CollectorProcess>(socket());
    ASSERT_TRUE(collector_->Listens());
  }

  void SetUp() override { StartCollector(); }

  std::string dir() const { return scratch_.path() + "/runs"; }
  std::string socket() const { return scratch_.path() + "/s"; }
  std::string file(const char* name) const { return scratch_.path() + "/" + name; }

  ScratchDir scratch_;
  std::unique_ptr<CollectorProcess> collector_;
};

// When the device had what, by the double: ns of CLOCK_MONOTONIC.
std::vector<std::pair<int64_t, int64_t>> DeviceTimes(const Done& done) {
  std::vector<std::pair<int64_t, int64_t>> times;
  std::istringstream lines(done.out);
  for (std::string line; std::getline(lines, line);) {
    long long begin, end;
    if (sscanf(line.c_str(), "device %*s %lld %lld", &begin, &end) == 2) times.emplace_back(begin, end);
  }
  return times;
}

std::string OtherPath(int version) {
  return std::string(OTHERS) + "/libplugin_other_v" + std::to_string(version) + ".so";
}

class PluginVersion : public Plugin, public testing::WithParamInterface<int> {
 protected:
  int version() const { return GetParam(); }
  std::string text() const { return std::to_string(version()); }
};
INSTANTIATE_TEST_SUITE_P(All, PluginVersion, testing::Range(1, 7));

TEST_P(PluginVersion, SaysHowEachOperationIsCarriedOut) {
  Done done = RunDriver({{"DDBG_NCCL_PLUGIN", "1"}, {"DOUBLE_VERSION", text()}});
  ASSERT_EQ(done.status, 0) << done.out;
  EXPECT_TRUE(done.Says("plugin ddbg version " + text())) << done.out;
  EXPECT_TRUE(done.Says("context 1 mask " + std::to_string(version() < 6 ? 6 : 6 | kCeColl))) << done.out;
  Trace trace = Recorded();
  std::vector<Row> calls = trace.Of("ncclAllReduce"), details = trace.Of("ncclProfileColl");
  ASSERT_EQ(calls.size(), 6u);
  ASSERT_EQ(details.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const Row& row = details[i];
    bool grouped = i >= 4;
    EXPECT_EQ(row.aux, grouped && version() < 5 ? 0 : calls[i].aux) << i;
    EXPECT_EQ(row.comm, calls[i].comm) << i;
    EXPECT_EQ(row.count, calls[i].count);
    EXPECT_EQ(row.seq, static_cast<int>(i));
    EXPECT_EQ(trace.types[row.dtype], "ncclFloat32");
    EXPECT_TRUE(row.flags & kFlagNested);
    ASSERT_TRUE(trace.plans.count(static_cast<uint32_t>(row.tag)));
    const proto::NcclPlan& plan = trace.plans[static_cast<uint32_t>(row.tag)];
    EXPECT_EQ(plan.algorithm(), "RING");
    EXPECT_EQ(plan.protocol(), "LL128");
    EXPECT_EQ(plan.channels(), 3u);
    EXPECT_EQ(plan.warps(), 16u);
  }
  EXPECT_EQ(trace.Of("ncclProfileP2p").size(), 2u);
  EXPECT_EQ(trace.Of("completion").size(), 0u);
  EXPECT_TRUE(trace.levels["NCCL plugin"].on());
  EXPECT_NE(trace.levels["NCCL plugin"].why().find("version " + text()), std::string::npos);
  EXPECT_EQ(trace.comms[calls[0].comm].nccl_hash() != 0, version() >= 4);
  EXPECT_EQ(trace.comms.size(), 1u);
}

TEST_P(PluginVersion, SaysWhenTheDeviceBeganAndEnded) {
  Done done = RunDriver({{"DDBG_NCCL_PLUGIN", "times"}, {"DOUBLE_VERSION", text()}});
  ASSERT_EQ(done.status, 0) << done.out;
  Trace trace = Recorded();
  std::vector<Row> completions = trace.Of("completion"), calls = trace.Of("ncclAllReduce");
  std::vector<std::pair<int64_t, int64_t>> times = DeviceTimes(done);
  ASSERT_EQ(times.size(), 8u);
  if (version() < 3) {
    EXPECT_EQ(completions.size(), 0u);
    return;
  }
  ASSERT_EQ(calls.size(), 6u);
  for (size_t i = 0; i < (version() < 5 ? 4 : 6); ++i) {
    auto of_call = [&](const Row& row) { return row.aux == calls[i].aux; };
    ASSERT_EQ(std::count_if(completions.begin(), completions.end(), of_call), 1) << i;
    const Row& row = *std::find_if(completions.begin(), completions.end(), of_call);
    EXPECT_EQ(row.comm, calls[i].comm);
    if (version() == 3) {
      EXPECT_EQ(row.peer, -1);
      continue;
    }
    ASSERT_GE(row.peer, 0) << i;
    int64_t end = row.start + static_cast<int64_t>(row.duration), slack = row.peer + 2'000;
    EXPECT_LE(std::abs(row.start - times[i].first), slack) << i << " within " << row.peer;
    EXPECT_LE(std::abs(end - times[i].second), slack) << i << " within " << row.peer;
  }
}

TEST_P(PluginVersion, SeesAnNcclLinkedStatically) {
  Done done = RunDriver({{"DDBG_NCCL_PLUGIN", "times"}, {"DOUBLE_VERSION", text()}}, {"plain"}, true, DRIVER_STATIC);
  ASSERT_EQ(done.status, 0) << done.out;
  Trace trace = Recorded();
  std::vector<Row> calls = trace.Of("ncclAllReduce"), details = trace.Of("ncclProfileColl");
  ASSERT_EQ(calls.size(), 6u);
  ASSERT_EQ(details.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(calls[i].flags & kFlagByPlugin);
    EXPECT_EQ(calls[i].seq, static_cast<int>(i));
    EXPECT_EQ(details[i].aux, calls[i].aux);
    EXPECT_EQ(calls[i].count, i < 4 ? 100 + i : 196 + i);
  }
  EXPECT_EQ(trace.Of("ncclSend").size(), 1u);
  EXPECT_EQ(trace.Of("ncclRecv").size(), 1u);
  EXPECT_EQ(trace.Of("completion").empty(), version() < 3);
  EXPECT_TRUE(trace.levels["NCCL"].on());
  if (version() < 4) return;  // nobody says which communicator it is
  ASSERT_EQ(trace.comms.size(), 1u);
  EXPECT_EQ(trace.comms.begin()->second.size(), 1u);
  EXPECT_NE(trace.comms.begin()->second.uid(), 0u);
  EXPECT_EQ(calls[0].comm, trace.comms.begin()->first);
}

// Lines of its log without numbers of events, sorted: threads take turns.
std::vector<std::string> Log(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream text(ReadBytes(path));
  for (std::string line; std::getline(text, line);) {
    size_t at = line.find("number ");
    if (at != std::string::npos) {
      size_t end = line.find(' ', at + 7);
      line.erase(at, end == std::string::npos ? std::string::npos : end - at);
    }
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST_P(PluginVersion, AnotherPluginIsToldWhatItWouldBeWithoutUs) {
  for (uint32_t mask : {0u, 1u, 6u, 8u, 16u, 64u, 256u, 1536u, 0x7fffu}) {
    std::string alone = file("alone") + std::to_string(mask), beside = file("beside") + std::to_string(mask);
    std::map<std::string, std::string> environment = {
        {"NCCL_PROFILER_PLUGIN", OtherPath(version())}, {"OTHER_MASK", std::to_string(mask)}, {"OTHER_LOG", alone}};
    ASSERT_EQ(RunDriver(environment, {"plain"}, false).status, 0);
    environment["OTHER_LOG"] = beside;
    environment["DDBG_NCCL_PLUGIN"] = "times";
    Done done = RunDriver(environment);
    ASSERT_EQ(done.status, 0) << done.out;
    EXPECT_TRUE(done.Says("plugin ddbg version " + text())) << done.out;
    EXPECT_TRUE(done.Says("environment " + OtherPath(version()))) << done.out;
    EXPECT_EQ(Log(alone), Log(beside)) << "mask " << mask;
    EXPECT_FALSE(Log(beside).empty());
  }
  Trace trace = Recorded();
  EXPECT_EQ(trace.Of("ncclProfileColl").size(), 9u * 6);
  EXPECT_NE(trace.levels["NCCL plugin"].why().find("another plugin beside it"), std::string::npos);
}

TEST_P(PluginVersion, SurvivesWhatNcclShouldNotDo) {
  for (const char* scenario : {"stray", "open", "graph"}) {
    for (const char* mode : {"1", "times"}) {
      Done done = RunDriver({{"DDBG_NCCL_PLUGIN", mode}, {"DOUBLE_VERSION", text()}}, {scenario});
      EXPECT_EQ(done.status, 0) << scenario << done.out;
      EXPECT_TRUE(done.Says("\ndone\n")) << done.out;
    }
  }
}

TEST_F(Plugin, AnotherThatFailsIsLeftOut) {
  Done done = RunDriver({{"NCCL_PROFILER_PLUGIN", OtherPath(5)},
                         {"OTHER_FAILS", "1"},
                         {"OTHER_MASK", "127"},
                         {"OTHER_LOG", file("log")},
                         {"DDBG_NCCL_PLUGIN", "1"}});
  ASSERT_EQ(done.status, 0) << done.out;
  EXPECT_TRUE(done.Says("init 0 context 1 mask 6")) << done.out;
  EXPECT_EQ(Log(file("log")), std::vector<std::string>{"init v5"});
  EXPECT_EQ(Recorded().Of("ncclProfileColl").size(), 6u);
}

TEST_F(Plugin, TheOneThatNcclFindsByItselfIsFoundStill) {
  fs::create_symlink(OtherPath(4), file("libnccl-profiler.so"));
  Done done = RunDriver({{"LD_LIBRARY_PATH", scratch_.path()},
                         {"OTHER_MASK", "2"},
                         {"OTHER_LOG", file("log")},
                         {"DDBG_NCCL_PLUGIN", "1"}});
  ASSERT_EQ(done.status, 0) << done.out;
  EXPECT_TRUE(done.Says("plugin ddbg version 4")) << done.out;
  EXPECT_GT(Log(file("log")).size(), 6u);
}

TEST_F(Plugin, IsNotThereUnlessAskedFor) {
  Done done = RunDriver({});
  EXPECT_TRUE(done.Says("plugin  version 0")) << done.out;
  EXPECT_TRUE(done.Says("environment unset")) << done.out;
  // The program's own plugin is meant, and ours must not be taken for it.
  done = RunDriver({{"NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN"}});
  EXPECT_TRUE(done.Says("plugin  version 0")) << done.out;
  done = RunDriver({{"NCCL_PROFILER_PLUGIN", DDBG_LIBRARY_PATH}, {"DDBG_NCCL_PLUGIN", "0"}});
  EXPECT_TRUE(done.Says("plugin  version 0")) << done.out;
  done = RunDriver({{"DDBG_NCCL_PLUGIN", "1"}, {"DDBG", "0"}});
  EXPECT_TRUE(done.Says("plugin  version 0")) << done.out;
  done = RunDriver({{"NCCL_PROFILER_PLUGIN", "none"}, {"DDBG_NCCL_PLUGIN", "1"}});
  EXPECT_FALSE(done.Says("plugin")) << done.out;
  // Another is named and ddbg's is off: it is alone.
  done = RunDriver({{"NCCL_PROFILER_PLUGIN", OtherPath(5)}, {"OTHER_MASK", "2"}, {"OTHER_LOG", file("log")}});
  EXPECT_TRUE(done.Says("plugin other version 5")) << done.out;
  Trace trace = Recorded();
  EXPECT_TRUE(trace.Of("ncclProfileColl").empty());
  EXPECT_FALSE(trace.levels["NCCL plugin"].on());
}

TEST_F(Plugin, DeclinesWithoutAWarningWhereTheHookDoesNotReach) {
  for (const char* version : {"1", "3", "4", "6"}) {
    Done done =
        RunDriver({{"NCCL_PROFILER_PLUGIN", DDBG_LIBRARY_PATH}, {"DDBG_NCCL_PLUGIN", "0"}, {"DOUBLE_VERSION", version}},
                  {"plain"}, false);
    EXPECT_EQ(done.status, 0);
    EXPECT_TRUE(done.Says("init 0 context 0 mask 0")) << done.out;
  }
}

TEST_F(Plugin, StaticPluginOfAStaticNcclIsOurs) {
  Done done = RunDriver({{"NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN"}}, {"plain"}, true, DRIVER_STATIC);
  EXPECT_TRUE(done.Says("plugin ddbg version 6")) << done.out;
  EXPECT_EQ(Recorded().Of("ncclAllReduce").size(), 6u);
}

TEST_F(Plugin, RecordsWithoutAPreload) {
  for (const char* driver : {DRIVER, DRIVER_STATIC}) {
    Done done = RunDriver({{"NCCL_PROFILER_PLUGIN", DDBG_LIBRARY_PATH}}, {"plain"}, false, driver);
    EXPECT_EQ(done.status, 0);
    EXPECT_TRUE(done.Says("plugin ddbg version 6")) << done.out;
  }
  EXPECT_EQ(Recorded().Of("ncclAllReduce").size(), 12u);
}

TEST_F(Plugin, IsPutIntoTheEnvironmentBeforeMain) {
  Done done = RunDriver({{"DDBG_NCCL_PLUGIN", "1"}});
  EXPECT_TRUE(done.Says("environment " + fs::canonical(DDBG_LIBRARY_PATH).string())) << done.out;
  // A shell has a setenv of its own, which does not work yet when constructors run.
  done = Run({"/bin/bash", "-c", "x=1; export x; /bin/bash -c 'echo $NCCL_PROFILER_PLUGIN; echo $x'"},
             {{"DDBG_NCCL_PLUGIN", "1"}});
  EXPECT_EQ(done.status, 0);
  EXPECT_TRUE(done.Says("\n1\n") || done.Says("1\n")) << done.out;
}

TEST_F(Plugin, ThreadsWithCommunicatorsOfTheirOwn) {
  Done done = RunDriver({{"DDBG_NCCL_PLUGIN", "times"}, {"DOUBLE_VERSION", "5"}}, {"threads"});
  ASSERT_EQ(done.status, 0) << done.out;
  Trace trace = Recorded();
  std::vector<Row> calls = trace.Of("ncclAllReduce"), details = trace.Of("ncclProfileColl");
  ASSERT_EQ(calls.size(), 200u);
  ASSERT_EQ(details.size(), 200u);
  std::map<uint64_t, uint32_t> comm_of;
  for (const Row& row : calls) comm_of[row.aux] = row.comm;
  std::set<uint64_t> over;
  for (const Row& row : details) EXPECT_EQ(row.comm, comm_of[row.aux]);
  for (const Row& row : trace.Of("completion")) {
    EXPECT_EQ(row.comm, comm_of[row.aux]);
    over.insert(row.aux);
  }
  EXPECT_EQ(over.size(), 200u);
}

TEST_F(Plugin, GraphTellsAgainEachTimeItRuns) {
  RunDriver({{"DDBG_NCCL_PLUGIN", "times"}, {"DOUBLE_VERSION", "5"}}, {"graph"});
  Trace trace = Recorded();
  std::vector<Row> calls = trace.Of("ncclAllReduce"), details = trace.Of("ncclProfileColl");
  ASSERT_EQ(calls.size(), 1u);
  ASSERT_EQ(details.size(), 4u);
  for (const Row& row : details) EXPECT_EQ(row.aux, calls[0].aux);
  EXPECT_EQ(trace.Of("completion").size(), 4u);
}

// More than the rings hold.
TEST_F(Plugin, ManyOperations) {
  RunDriver({{"DDBG_NCCL_PLUGIN", "1"},
             {"NCCL_PROFILER_PLUGIN", OtherPath(5)},
             {"OTHER_MASK", "770"},
             {"OTHER_LOG", "/dev/null"}},
            {"many", "2000"});
  Trace trace = Recorded();
  EXPECT_EQ(trace.Of("ncclProfileColl").size(), 2000u);
  EXPECT_EQ(trace.plans.size(), 1u);
}

}  // namespace
}  // namespace ddbg
