#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/model/call_fields.h"
#include "analyzer/model/comm_name.h"
#include "analyzer/render/events.h"
#include "analyzer/render/info.h"
#include "analyzer/report/event_filter.h"
#include "analyzer/report/run_summary.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Communicator SomeComm(uint32_t id, uint64_t uid, const char* kind, const char* name, uint32_t parent = 0,
                      uint32_t index = 0) {
  Communicator comm;
  comm.id = id;
  comm.uid = uid;
  comm.kind = kind;
  comm.name = name;
  comm.parent = parent;
  comm.creation_index = index;
  comm.size = 2;
  return comm;
}

Call SomeCall(MpiCall call, int64_t start_ns, uint32_t comm = 1) {
  Call made;
  made.call = CallId(call);
  made.start_ns = start_ns;
  made.duration_ns = 10;
  made.comm = comm;
  return made;
}

Process SomeProcess(int rank) {
  Process process;
  process.launcher_rank = rank;
  process.launcher_world_size = 2;
  process.pid = 100 + rank;
  process.host = "h";
  process.run_id = "run-1";
  process.lost.assign(kLossCauses, 0);
  process.comms[1] = SomeComm(1, 0xabc, "world", "MPI_COMM_WORLD");
  process.comms[2] = SomeComm(2, 0xdef, "split", "", 1, 2);
  process.comms[3] = SomeComm(3, 0x123, "dup", "MPI COMMUNICATOR 4 DUP FROM 3", 2, 0);
  process.dtypes[5] = {"MPI_DOUBLE", 8, "MPI_DOUBLE", 1, 0};
  process.dtypes[6] = {"", 24, "MPI_INT", 6, 0};
  process.tid_by_thread[0] = 77;
  return process;
}

// Two ranks; a second between calls, rank 1 half a second later.
analyzer::Run SomeRun() {
  analyzer::Run run;
  for (int rank : {0, 1}) {
    Process process = SomeProcess(rank);
    int64_t shift = 100 * kSecond + rank * kSecond / 2;
    process.calls = {SomeCall(MpiCall::Init, shift, 0), SomeCall(MpiCall::Allreduce, shift + kSecond),
                     SomeCall(MpiCall::Send, shift + 2 * kSecond), SomeCall(MpiCall::Barrier, shift + 3 * kSecond, 2)};
    process.calls.back().duration_ns = kNeverReturned;
    process.last_seen_ns = 200 * kSecond;
    process.start_monotonic_ns = shift;
    run.processes.push_back(process);
  }
  return run;
}

// "rank:call" of the events that pass.
std::vector<std::string> Select(const analyzer::Run& run, const EventFilter& filter) {
  std::vector<std::string> events;
  Timeline timeline(run);
  ForEachEvent(run, timeline, filter, [&](const Event& event) {
    const Process& process = run.processes[event.process];
    events.push_back(std::to_string(process.rank()) + ":" + CallName(process, process.calls[event.call]).substr(4));
    return true;
  });
  return events;
}

using Names = std::vector<std::string>;

TEST(EventFilter, OrdersByTimeOverRanks) {
  EXPECT_EQ(Select(SomeRun(), {}),
            (Names{"0:Init", "1:Init", "0:Allreduce", "1:Allreduce", "0:Send", "1:Send", "0:Barrier", "1:Barrier"}));
}

TEST(EventFilter, SelectsByRankCommKindAndCall) {
  analyzer::Run run = SomeRun();
  EventFilter by_rank, by_comm, by_uid, by_world, by_kind, by_call, none;
  by_rank.ranks = {1};
  EXPECT_EQ(Select(run, by_rank), (Names{"1:Init", "1:Allreduce", "1:Send", "1:Barrier"}));
  by_comm.comm = "split#2 of MPI_COMM_WORLD";
  EXPECT_EQ(Select(run, by_comm), (Names{"0:Barrier", "1:Barrier"}));
  by_uid.comm = "0xdef";
  EXPECT_EQ(Select(run, by_uid), Select(run, by_comm));
  by_world.comm = "world";
  EXPECT_EQ(Select(run, by_world).size(), 4u);
  by_kind.kind = "send";
  EXPECT_EQ(Select(run, by_kind), (Names{"0:Send", "1:Send"}));
  by_call.call = "mpi_allreduce";
  EXPECT_EQ(Select(run, by_call), (Names{"0:Allreduce", "1:Allreduce"}));
  by_call.call = "barrier";
  by_call.ranks = {0};
  EXPECT_EQ(Select(run, by_call), (Names{"0:Barrier"}));
  none.call = "reduce";
  EXPECT_TRUE(Select(run, none).empty());
}

TEST(EventFilter, TimesAreSecondsSinceTheFirstEvent) {
  analyzer::Run run = SomeRun();
  EventFilter filter;
  filter.from_s = 1.0;
  filter.to_s = 1.5;
  EXPECT_EQ(Select(run, filter), (Names{"0:Allreduce", "1:Allreduce"}));
}

TEST(EventFilter, CallThatIsStillOpenBelongsToTheLastSeconds) {
  EventFilter filter;
  filter.last_s = 10;
  EXPECT_EQ(Select(SomeRun(), filter), (Names{"0:Barrier", "1:Barrier"}));
  analyzer::Run run = SomeRun();
  run.processes[0].calls[1].duration_ns = 98 * kSecond;  // ended in the last ten
  EXPECT_EQ(Select(run, filter), (Names{"0:Allreduce", "0:Barrier", "1:Barrier"}));
}

TEST(EventFilter, StopsAtTheLimitAndWhenTold) {
  EventFilter filter;
  filter.limit = 3;
  EXPECT_EQ(Select(SomeRun(), filter).size(), 3u);
  analyzer::Run run = SomeRun();
  int shown = 0;
  ForEachEvent(run, Timeline(run), {}, [&](const Event&) { return ++shown < 2; });
  EXPECT_EQ(shown, 2);
}

TEST(EventFilter, HugeTimesDoNotOverflow) {
  EventFilter filter;
  filter.from_s = -1e300;
  filter.to_s = 1e300;
  EXPECT_EQ(Select(SomeRun(), filter).size(), 8u);
  filter.from_s.reset();
  filter.last_s = 1e300;
  EXPECT_EQ(Select(SomeRun(), filter).size(), 8u);
}

TEST(EventFilter, EmptyRunHasNoEvents) {
  analyzer::Run run;
  EXPECT_TRUE(Select(run, {}).empty());
  run.processes.push_back(SomeProcess(0));
  EXPECT_TRUE(Select(run, {}).empty());
}

TEST(EventFilter, HostsAreLaidSideBySideByTheirWallClocks) {
  analyzer::Run run = SomeRun();
  run.processes[0].start_realtime_ns = 1'000'000 * kSecond;
  run.processes[1].host = "other";
  run.processes[1].start_realtime_ns = 1'000'000 * kSecond + kSecond / 4;
  for (Call& call : run.processes[1].calls) call.start_ns += 5000 * kSecond;  // another uptime
  run.processes[1].start_monotonic_ns += 5000 * kSecond;
  run.processes[1].last_seen_ns += 5000 * kSecond;
  Timeline timeline(run);
  EXPECT_EQ(timeline.At(0, run.processes[0].calls[0].start_ns), 0);
  EXPECT_EQ(timeline.At(1, run.processes[1].calls[0].start_ns), kSecond / 4);
  EXPECT_EQ(timeline.realtime_ns(), 1'000'000 * kSecond);
}

TEST(EventFilter, RanksAreListsAndRanges) {
  EXPECT_EQ(*ParseRanks("3"), (std::set<int32_t>{3}));
  EXPECT_EQ(*ParseRanks("0,8-10,3"), (std::set<int32_t>{0, 3, 8, 9, 10}));
  for (const char* wrong : {"", "a", "1,", ",1", "3-1", "-1", "1 2", "1-", "99999999999", "0-99999999"}) {
    EXPECT_FALSE(ParseRanks(wrong).ok()) << wrong;
  }
}

TEST(EventFilter, UnknownKindAndReversedTimesAreUsageErrors) {
  EventFilter filter;
  filter.kind = "collectiv";
  EXPECT_NE(CheckFilter(filter).error().text.find("comm_create"), std::string::npos);
  filter.kind = "comm_create";
  EXPECT_TRUE(CheckFilter(filter).ok());
}

TEST(CommName, IsTheGivenOneOrHowItCameToBe) {
  Process process = SomeProcess(0);
  EXPECT_EQ(CommName(process, 0), "");
  EXPECT_EQ(CommName(process, 1), "MPI_COMM_WORLD");
  EXPECT_EQ(CommName(process, 2), "split#2 of MPI_COMM_WORLD");
  EXPECT_EQ(CommName(process, 3), "dup#0 of split#2 of MPI_COMM_WORLD");
  EXPECT_EQ(CommName(process, 9), "communicator 9");
  process.comms[2].parent = 3;  // a circle, in a damaged trace
  EXPECT_FALSE(CommName(process, 3).empty());
}

// What a printer writes.
template <typename Print>
std::string Printed(Print print) {
  char* text = nullptr;
  size_t size = 0;
  FILE* file = open_memstream(&text, &size);
  {
    Output out(file);
    print(out);
  }
  fclose(file);
  std::string copy(text, size);
  free(text);
  return copy;
}

std::vector<nlohmann::json> JsonLines(const analyzer::Run& run, StackViews* views = nullptr) {
  std::istringstream lines(
      Printed([&](Output& out) { PrintEventsJson(run, Timeline(run), EventFilter(), views, out); }));
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  return objects;
}

nlohmann::json JsonOf(const Call& call) {
  analyzer::Run run;
  run.processes.push_back(SomeProcess(0));
  run.processes[0].calls = {call};
  return JsonLines(run).at(0);
}

TEST(EventsJson, CollectiveHasItsArguments) {
  Call call = SomeCall(MpiCall::Reduce, 5000, 2);
  call.seq = 4;
  call.count = 100;
  call.dtype = 5;
  call.op = kOpSum;
  call.peer = 1;
  nlohmann::json json = JsonOf(call);
  EXPECT_EQ(json, nlohmann::json::parse(R"({"rank":0,"pid":100,"tid":77,"call":"MPI_Reduce","kind":"collective",
      "comm":"split#2 of MPI_COMM_WORLD","comm_uid":"0000000000000def","seq":4,"count":100,"dtype":"MPI_DOUBLE",
      "bytes":800,"op":"MPI_SUM","root":1,"t_ns":0,"dur_ns":10,"result":0})"));
}

TEST(EventsJson, ReceiveHasPeerAndTagAndWordsForWildcards) {
  Call call = SomeCall(MpiCall::Recv, 5000);
  call.count = 3;
  call.dtype = 6;
  call.peer = kAnySource;
  call.tag = kAnyTag;
  call.duration_ns = kNeverReturned;
  nlohmann::json json = JsonOf(call);
  EXPECT_EQ(json["peer"], "any");
  EXPECT_EQ(json["tag"], "any");
  EXPECT_EQ(json["dtype"], "6 x MPI_INT");
  EXPECT_EQ(json["bytes"], 72);
  EXPECT_TRUE(json["dur_ns"].is_null());
  for (const char* absent : {"seq", "root", "op", "result", "stack"}) EXPECT_FALSE(json.contains(absent)) << absent;
}

TEST(EventsJson, KeysWithoutMeaningAreAbsent) {
  nlohmann::json barrier = JsonOf(SomeCall(MpiCall::Barrier, 5000));
  for (const char* absent : {"count", "dtype", "bytes", "op", "root", "peer", "tag"}) {
    EXPECT_FALSE(barrier.contains(absent)) << absent;
  }
  EXPECT_EQ(barrier["seq"], 0);
  nlohmann::json init = JsonOf(SomeCall(MpiCall::Init, 5000, 0));
  for (const char* absent : {"comm", "comm_uid", "seq", "peer"}) EXPECT_FALSE(init.contains(absent)) << absent;
}

TEST(EventsJson, SendrecvIsTwoLines) {
  analyzer::Run run;
  run.processes.push_back(SomeProcess(0));
  Call send = SomeCall(MpiCall::Sendrecv, 5000), receive = send;
  send.peer = 1;
  receive.peer = 2;
  receive.flags = kFlagSecondHalf;
  run.processes[0].calls = {send, receive};
  std::vector<nlohmann::json> lines = JsonLines(run);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["half"], "send");
  EXPECT_EQ(lines[0]["peer"], 1);
  EXPECT_EQ(lines[1]["half"], "recv");
  EXPECT_EQ(lines[1]["peer"], 2);
}

TEST(EventsJson, AllgatherTellsBothSides) {
  Call call = SomeCall(MpiCall::Allgather, 5000);
  call.count = 3;
  call.dtype = 5;
  call.aux = RecvSide::Pack(7, 6);
  nlohmann::json json = JsonOf(call);
  EXPECT_EQ(json["count"], 3);
  EXPECT_EQ(json["recv_count"], 7);
  EXPECT_EQ(json["recv_dtype"], "6 x MPI_INT");
}

TEST(EventsJson, CompletionsLossesAndPollsAreTold) {
  Call completion = SomeCall(MpiCall::Init, 5000);
  completion.call = kCallCompletion;
  completion.aux = 42;
  completion.peer = 3;
  nlohmann::json json = JsonOf(completion);
  EXPECT_EQ(json["kind"], "completion");
  EXPECT_EQ(json["operation"], 42);
  EXPECT_FALSE(json.contains("call"));
  Call lost = SomeCall(MpiCall::Init, 5000, 0);
  lost.call = kCallLost;
  lost.count = 9;
  EXPECT_EQ(JsonOf(lost)["records"], 9);
  Call polls = SomeCall(MpiCall::Test, 5000, 0);
  polls.flags = kFlagNothingDone;
  polls.count = 1000;
  EXPECT_EQ(JsonOf(polls)["polls"], 1000);
  EXPECT_FALSE(JsonOf(polls).contains("count"));
}

TEST(EventsJson, NegativeCountStaysNegative) {
  Call call = SomeCall(MpiCall::Bcast, 5000);
  call.count = static_cast<uint64_t>(int64_t{-3});
  call.dtype = 5;
  EXPECT_EQ(JsonOf(call)["count"], -3);
  EXPECT_FALSE(JsonOf(call).contains("bytes"));
}

TEST(EventsJson, ForeignCallKeepsItsName) {
  analyzer::Run run;
  run.processes.push_back(SomeProcess(0));
  run.processes[0].call_names = {"MPI_Old", "MPI_New\xff"};
  Call call = SomeCall(MpiCall::Init, 5000, 0);
  call.call = kUnknownCall;
  call.aux = 1;
  run.processes[0].calls = {call};
  EXPECT_EQ(JsonLines(run).at(0)["call"], "MPI_New\xef\xbf\xbd");  // not UTF-8: the replacement character
  EXPECT_EQ(JsonLines(run).at(0)["kind"], "unknown");
}

TEST(EventsJson, StackIsFoldedInnermostFirst) {
  analyzer::Run run;
  run.processes.push_back(SomeProcess(0));
  Process& process = run.processes[0];
  process.modules = {{"/o/libddbg.so", 0x1000, 0x1000, 0x2000, ""}, {"/gone/solver", 0x3000, 0x3000, 0x4000, ""}};
  process.stacks_by_id[8] = {0x1100, 0x3200, 0x3100};
  process.calls = {SomeCall(MpiCall::Barrier, 5000)};
  process.calls[0].stack = 8;
  Symbolizer symbolizer;
  StackViews views(&symbolizer);
  nlohmann::json stack = JsonLines(run, &views).at(0)["stack"];
  EXPECT_EQ(stack, nlohmann::json::parse(R"([{"module":"solver","offset":511},{"module":"solver","offset":255}])"));
}

TEST(EventsText, HasALineAnEventAndTimesSinceTheFirst) {
  analyzer::Run run = SomeRun();
  std::string text = Printed([&](Output& out) { PrintEventsText(run, Timeline(run), EventFilter(), nullptr, out); });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9);
  EXPECT_NE(text.find("    0.500000     1"), std::string::npos) << text;
  EXPECT_NE(text.find("never returned"), std::string::npos) << text;
}

TEST(Output, EndsQuietlyWhenTheReaderIsGone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  FILE* file = fdopen(ends[1], "w");
  Output out(file);
  out.Write("text");
  EXPECT_FALSE(out.Flush());
  EXPECT_FALSE(out.Write("more"));
  fclose(file);
}

TEST(Info, FirstLineTellsLosses) {
  analyzer::Run run = SomeRun();
  EXPECT_EQ(LossLine(run), "nothing lost");
  run.processes[1].lost[kLossRingFull] = 1204;
  EXPECT_EQ(LossLine(run), "LOST: 1,204 records on rank 1 (the ring was full)");
  run.unreadable = {"x"};
  std::string text = Printed([&](Output& out) { PrintInfoText(run, out); });
  EXPECT_TRUE(text.starts_with("LOST: 1,204 records on rank 1 (the ring was full); 1 file unreadable\n")) << text;
}

TEST(Info, JsonHasARowARank) {
  analyzer::Run run = SomeRun();
  run.processes[0].end.how = ProcessEnd::kSignaled;
  run.processes[0].end.code = 9;
  run.processes[1].lost[kLossRingFull] = 2;
  run.processes[1].launcher_world_size = 4;
  nlohmann::json json = nlohmann::json::parse(Printed([&](Output& out) { PrintInfoJson(run, false, out); }));
  EXPECT_EQ(json["schema"], "ddbg.info/1");
  EXPECT_EQ(json["lost_records"], 2);
  EXPECT_EQ(json["missing_ranks"], (std::vector<int>{2, 3}));
  ASSERT_EQ(json["ranks"].size(), 2u);
  EXPECT_EQ(json["ranks"][0]["calls"], 4);
  EXPECT_EQ(json["ranks"][0]["end"]["signal_name"], "SIGKILL");
  EXPECT_EQ(json["ranks"][0]["open_call"]["call"], "MPI_Barrier");
  EXPECT_EQ(json["ranks"][1]["end"]["how"], "running");
  EXPECT_EQ(json["ranks"][1]["lost"]["ring_full"], 2);
}

}  // namespace
}  // namespace ddbg::analyzer
