#include "analyzer/export/perfetto.h"

#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>

#include "analyzer/render/events.h"
#include "analyzer/report/event_fields.h"
#include "analyzer/verdict/diagnose.h"
#include "tests/unit/made_run.h"

namespace ddbg::analyzer {
namespace {

using protozero::pbf_reader;

// The trace as far as these tests look at it; numbers are the published schema's, and not taken from perfetto_fields.h.
struct Trace {
  struct Event {
    uint64_t track, time, type;
    std::string name;
    std::set<std::string> keys;
    std::vector<uint64_t> flows;
  };
  std::map<uint64_t, std::string> tracks;
  std::map<uint64_t, uint64_t> parents;
  std::vector<Event> events;
  std::map<std::pair<uint32_t, uint64_t>, std::string> texts;

  std::vector<const Event*> On(const std::string& track) const {
    std::vector<const Event*> found;
    for (const Event& event : events)
      if (tracks.at(event.track) == track) found.push_back(&event);
    return found;
  }
};

std::string Bytes(pbf_reader* reader) { return std::string(reader->get_view()); }

void ReadTexts(const std::string& data, Trace* trace) {
  pbf_reader tables(data);
  while (tables.next()) {
    uint32_t table = tables.tag();
    std::string item = Bytes(&tables);
    pbf_reader entry(item);
    uint64_t iid = 0;
    std::string text;
    while (entry.next()) entry.tag() == 1 ? void(iid = entry.get_uint64()) : void(text = Bytes(&entry));
    EXPECT_TRUE(trace->texts.emplace(std::pair(table, iid), text).second);
  }
}

void ReadEvent(const std::string& data, uint64_t time, Trace* trace) {
  Trace::Event event{0, time, 0, "", {}, {}};
  pbf_reader reader(data);
  while (reader.next()) {
    switch (reader.tag()) {
      case 9: event.type = reader.get_uint64(); break;
      case 11: event.track = reader.get_uint64(); break;
      case 10: event.name = trace->texts.at({2, reader.get_uint64()}); break;
      case 4: {
        std::string item = Bytes(&reader);
        pbf_reader annotation(item);
        while (annotation.next()) {
          if (annotation.tag() == 1)
            event.keys.insert(trace->texts.at({3, annotation.get_uint64()}));
          else
            annotation.skip();
        }
        break;
      }
      case 47:
      case 48: event.flows.push_back(reader.get_fixed64()); break;
      default: reader.skip();
    }
  }
  EXPECT_TRUE(trace->tracks.count(event.track));
  trace->events.push_back(std::move(event));
}

void ReadTrack(const std::string& data, Trace* trace) {
  pbf_reader reader(data);
  uint64_t uuid = 0, parent = 0;
  std::string name;
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: uuid = reader.get_uint64(); break;
      case 2: name = Bytes(&reader); break;
      case 5: parent = reader.get_uint64(); break;
      default: reader.skip();
    }
  }
  EXPECT_TRUE(trace->tracks.emplace(uuid, name).second);
  trace->parents[uuid] = parent;
}

Trace ReadTrace(const std::string& content) {
  Trace trace;
  pbf_reader packets(content);
  while (packets.next(1)) {
    std::string packet = Bytes(&packets), event;
    uint64_t time = 0;
    pbf_reader reader(packet);
    while (reader.next()) {
      switch (reader.tag()) {
        case 8: time = reader.get_uint64(); break;
        case 12: ReadTexts(Bytes(&reader), &trace); break;
        case 60: ReadTrack(Bytes(&reader), &trace); break;
        case 11: event = Bytes(&reader); break;
        default: reader.skip();
      }
    }
    if (!event.empty()) ReadEvent(event, time, &trace);
  }
  return trace;
}

std::string Written(const std::function<void(Output&)>& write) {
  char* text = nullptr;
  size_t size = 0;
  FILE* file = open_memstream(&text, &size);
  {
    Output out(file);
    write(out);
  }
  fclose(file);
  std::string content(text, size);
  free(text);
  return content;
}

Trace Exported(const analyzer::Run& run, const EventFilter& filter = {}) {
  Timeline timeline(run);
  Matching matching = MatchCollectives(run);
  Messages messages = MatchMessages(run);
  Steps steps(run, matching);
  Diagnosis diagnosis = DiagnoseRun(run);
  return ReadTrace(Written([&](Output& out) {
    ExportPerfetto({run, timeline, matching, messages, steps, diagnosis}, filter, nullptr, out);
  }));
}

// Times of a track never go back, and no end is without a begin.
void ExpectInOrder(const Trace& trace) {
  std::map<uint64_t, uint64_t> last;
  std::map<uint64_t, int> open;
  for (const Trace::Event& event : trace.events) {
    if (event.type != 3) {
      EXPECT_GE(event.time, last[event.track]) << trace.tracks.at(event.track);
      last[event.track] = event.time;
    }
    open[event.track] += event.type == 1 ? 1 : event.type == 2 ? -1 : 0;
    EXPECT_GE(open[event.track], 0);
  }
}

TEST(Perfetto, ACollectiveIsOnItsRanksAndItsCommunicator) {
  analyzer::Run run = MadeRun("ranks 3\nall: Allreduce count=4 type=MPI_INT op=SUM @step\nend all: exit 0\n");
  Trace trace = Exported(run);
  ExpectInOrder(trace);
  auto on_comm = trace.On("MPI_COMM_WORLD");
  ASSERT_EQ(on_comm.size(), 2u);
  EXPECT_EQ(on_comm[0]->name, "MPI_Allreduce");
  EXPECT_EQ(on_comm[1]->time - on_comm[0]->time, 100'000u + 2'000u);  // ranks come a microsecond after each other
  EXPECT_TRUE(on_comm[0]->keys.count("entry_skew_ns"));
  ASSERT_EQ(on_comm[0]->flows.size(), 1u);
  size_t members = 0;
  for (const Trace::Event* event : trace.On("main thread")) members += event->flows == on_comm[0]->flows;
  EXPECT_EQ(members, 3u);
}

TEST(Perfetto, OverlappingCollectivesLieInLanes) {
  analyzer::Run run = MadeRun("ranks 2\nall: Barrier @a\nall: Barrier @b\nend all: exit 0\n");
  run.processes[0].calls[0].duration_ns = 5'000'000;  // rank 0 leaves the first after rank 1 came to the second
  run.processes[0].calls[1].start_ns += 6'000'000;
  Trace trace = Exported(run);
  ExpectInOrder(trace);
  size_t lanes = 0;
  for (const auto& [uuid, name] : trace.tracks) lanes += name == "MPI_COMM_WORLD";
  EXPECT_EQ(lanes, 2u);
}

TEST(Perfetto, NestedCallsEndBeforeTheOneTheyAreIn) {
  analyzer::Run run =
      MadeRun("ranks 1 nccl\nnccl dp:0\n0: cudaStreamSynchronize stream=1 @a\n0: cudaStreamSynchronize stream=1 @a\n");
  std::vector<Call>& calls = run.processes[0].calls;
  calls[0].duration_ns = 3'000'000;
  calls[1].duration_ns = 9'000'000;  // by the clock's rounding, or damage: longer than what it lies in
  Trace trace = Exported(run);
  ExpectInOrder(trace);
  auto events = trace.On("main thread");
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[2]->time, events[3]->time);
  EXPECT_EQ(events[3]->time - events[0]->time, 3'000'000u);
}

TEST(Perfetto, AnOpenCallOfARunningProcessHasNoEnd) {
  analyzer::Run live = MadeRun("ranks 2\nall: Barrier @a\n0: Barrier @b open\n");
  auto count = [](const Trace& trace, uint64_t type) {
    size_t events = 0;
    for (const Trace::Event* event : trace.On("main thread")) events += event->type == type;
    return events;
  };
  Trace trace = Exported(live);
  EXPECT_EQ(count(trace, 1), 3u);
  EXPECT_EQ(count(trace, 2), 2u);
  analyzer::Run ended = MadeRun("ranks 2\nall: Barrier @a\n0: Barrier @b open\nend all: signal 9\n");
  EXPECT_EQ(count(Exported(ended), 2), 3u);
}

TEST(Perfetto, TheVerdictIsAMarkOnTheCulpritAndAHealthyRunHasNone) {
  auto marks = [](const Trace& trace) {
    std::vector<std::string> names;
    for (const Trace::Event& event : trace.events)
      if (event.keys.count("culprit_ranks")) names.push_back(event.name);
    return names;
  };
  std::string steps = "ranks 2\nrepeat 3 {\nall: Barrier @step\n}\n";
  analyzer::Run bad = MadeRun(
      steps + "all: Bcast root=0 count=4 type=MPI_INT @b\nall: Barrier @step\nall: Finalize @end\nend all: exit 0\n");
  EXPECT_TRUE(marks(Exported(bad)).empty());
  bad.processes[1].calls[3].peer = 1;
  for (Process& process : bad.processes) {
    process.calls.pop_back();
    process.calls.back().duration_ns = kNeverReturned;
    process.end = {};
  }
  EXPECT_FALSE(marks(Exported(bad)).empty());
}

TEST(Perfetto, SendsLeadToWhereTheReceiveWasOver) {
  analyzer::Run run = MadeRun(
      "ranks 2\n1: Irecv peer=0 tag=7 count=1 type=MPI_INT #1 @r\n0: Send peer=1 tag=7 count=1 type=MPI_INT @s\n"
      "1: Wait #1\nend all: exit 0\n");
  Trace trace = Exported(run);
  std::map<uint64_t, std::vector<std::pair<std::string, uint64_t>>> flows;
  for (const Trace::Event& event : trace.events)
    for (uint64_t flow : event.flows) flows[flow].push_back({event.name, event.type});
  ASSERT_EQ(flows.size(), 1u);
  auto ends = flows.begin()->second;
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0], std::pair(std::string("MPI_Send"), uint64_t{1}));
  EXPECT_EQ(ends[1].second, 2u);  // the end of the wait
}

TEST(Perfetto, WorkOfTheDeviceIsOnItsStream) {
  analyzer::Run run = MadeRun(
      "ranks 2 nccl\nnccl dp:0-1\ncompletions\nall: ncclAllReduce comm=dp count=8 type=ncclFloat32 op=SUM stream=1 #5 "
      "@step\n"
      "at 1\nall: completion #5\nend all: exit 0\n");
  for (Process& process : run.processes) process.calls[1].duration_ns = 40'000;
  Trace trace = Exported(run);
  ExpectInOrder(trace);
  size_t slices = 0;
  for (const auto& [uuid, name] : trace.tracks)
    if (name.starts_with("GPU 0 stream 1"))
      for (const Trace::Event& event : trace.events) slices += event.track == uuid && event.type == 1;
  EXPECT_EQ(slices, 2u);
  // The collective is over when the last device is done with it.
  auto on_comm = trace.On("dp");
  ASSERT_EQ(on_comm.size(), 2u);
  EXPECT_GT(on_comm[1]->time - on_comm[0]->time, 900'000'000u);
}

TEST(Perfetto, ProcessesOfEqualPidsAreKeptApart) {
  analyzer::Run run = MadeRun("ranks 2\nall: Barrier @a\nall: Finalize @a\nend all: exit 0\n");
  run.processes[1].pid = run.processes[0].pid;
  run.processes[1].host = "node1";
  Trace trace = Exported(run);
  EXPECT_EQ(trace.On("main thread").size(), 8u);
  std::set<uint64_t> tracks;
  for (const Trace::Event* event : trace.On("main thread")) tracks.insert(event->track);
  EXPECT_EQ(tracks.size(), 2u);
}

// Remembers the keys that PutEvent uses.
struct KeySink {
  std::vector<std::string> keys;
  void Number(std::string_view key, auto) { keys.emplace_back(key); }
  void Real(std::string_view key, double) { keys.emplace_back(key); }
  void Word(std::string_view key, std::string_view) { keys.emplace_back(key); }
  void Text(std::string_view key, KeptText&) { keys.emplace_back(key); }
  void Handle(std::string_view key, uint64_t) { keys.emplace_back(key); }
  void True(std::string_view key) { keys.emplace_back(key); }
  void Null(std::string_view key) { keys.emplace_back(key); }
  void Numbers(std::string_view key, const std::vector<uint64_t>&) { keys.emplace_back(key); }
  void Stack(KeptStack&) { keys.emplace_back("stack"); }
};

// What CSV's columns rely on.
TEST(EventFields, OfEveryCallAreInTheOrderOfTheKeys) {
  analyzer::Run run = MadeRun("ranks 1\n");
  Process& process = run.processes[0];
  process.streams[1] = {};
  process.streams[1].kind = "created";
  EventTexts texts(process, nullptr);
  for (size_t i = 0; i < kCallCount; ++i) {
    for (int flags = 0; flags < 256; ++flags) {
      Call call;
      call.call = static_cast<uint16_t>(kFirstCall + i);
      call.flags = static_cast<uint8_t>(flags);
      call.comm = call.dtype = call.stack = 1;
      call.count = call.aux = 3;
      call.op = 1;
      call.peer = call.tag = 1;
      process.calls = {call};
      KeySink sink;
      PutEvent(process, {0, 0, 0, 0}, &texts, &sink);
      auto key = std::begin(kEventKeys);
      for (const std::string& used : sink.keys) {
        key = std::find(key, std::end(kEventKeys), used);
        ASSERT_NE(key, std::end(kEventKeys)) << call.info().name << " " << used;
        ++key;
      }
    }
  }
}

TEST(EventsCsv, QuotesWhatHasSeparatorsInIt) {
  analyzer::Run run = MadeRun("ranks 1\n0: Barrier @a\nend all: exit 0\n");
  run.processes[0].comms.begin()->second.name = "rows, \"odd\"\nones";
  std::string text = Written([&](Output& out) { PrintEventsCsv(run, Timeline(run), {}, nullptr, out); });
  EXPECT_NE(text.find(",\"rows, \"\"odd\"\"\nones\","), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\n"));
}

}  // namespace
}  // namespace ddbg::analyzer
